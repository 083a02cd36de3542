"""Where a proof runs: a folder with a copy of the project, in which one pipeline has topics of its own."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sluice.control.database import sqlite_url
from sluice.errors import NotReadyError, RefusedError
from sluice.launch.keeper import start_ticks, write_durably
from sluice.launch.processes import lives
from sluice.project.project import Project
from sluice.proof.findings import ProofVerdict
from sluice.settings import Settings, StateFolder

PREFIX = "prove_"
_RECORD = "proof.json"
MIB = 1 << 20
_LEAST_BYTES, _RECORD_BYTES = 512 * MIB, 10_000
"""What a proof takes without records, and for each: in the broker, in tables, in the journal."""


@dataclass(frozen=True)
class ProofPlace:
    """The folder of one proof.

    Attributes:
        root: the folder; the report and the journal stay in it.
        read: the topics of its own that the pipeline reads, by the names that these have in the deployment.
        pipeline: that is proven.
        filled: further topics of its own, which its outputs fill, by the names that they have in the deployment.
    """

    root: Path
    read: Mapping[str, str]
    pipeline: str
    filled: Mapping[str, str] = field(default_factory=dict)

    @property
    def topics(self) -> tuple[str, ...]:
        """All topics of its own."""
        return (*self.read.values(), *self.filled.values())

    @property
    def journal(self) -> Path:
        """The file of the journal."""
        return self.root / "journal.jsonl"

    @property
    def report(self) -> Path:
        """The file of the result."""
        return self.root / "report.json"

    @property
    def state(self) -> StateFolder:
        """The state folder of the copy."""
        return StateFolder(self.root / "state")

    @property
    def is_evidence(self) -> bool:
        """Whether its report says that the pipeline is not proven, so that its tables are looked at again."""
        try:
            return bool(json.loads(self.report.read_bytes())["verdict"] != ProofVerdict.PROVEN)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def open(self, settings: Settings) -> Project:
        """Return the copy as a project; it has no control database but its own, and runs on this machine.

        Raises:
            SpecError: a spec of the copy is not sound.
        """
        control = sqlite_url(self.state.control)  # given in code, so that no variable names the deployment's
        own = {"home": self.root / "project", "state": self.root / "state", "control_url": control}
        return Project.open_strict(settings.model_copy(update={**own, "spark_master": "local", "failpoint": ""}))

    def record(self) -> None:
        """Put on record what a later run must remove if this process dies. Before anything else is made."""
        self.root.mkdir(parents=True)
        pid = os.getpid()
        entry: dict[str, object] = {"pid": pid, "ticks": start_ticks(pid), "read": dict(self.read)}
        entry |= {"pipeline": self.pipeline, "filled": dict(self.filled)}
        write_durably(self.root / _RECORD, entry)

    def release(self, *, keep: bool) -> None:
        """Remove the copy and its tables unless they are to be kept, and then the record."""
        if not keep:
            for part in ("project", "state"):
                shutil.rmtree(self.root / part, ignore_errors=True)
        (self.root / _RECORD).unlink(missing_ok=True)


def leftovers(proofs: Path) -> list[ProofPlace]:
    """Return the places of proofs whose process is gone and which were not cleaned up."""
    found = []
    for file in sorted(proofs.glob(f"*/{_RECORD}")):
        try:
            entry = json.loads(file.read_bytes())
            read, filled = (_names(entry.get(part, {})) for part in ("read", "filled"))
            place = ProofPlace(file.parent, read, str(entry["pipeline"]), filled)
            alive = lives(int(entry["pid"]), ticks=entry["ticks"])
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
        ):  # it is written whole or not at all, so this is not ours
            continue
        if not alive and place.read and all(topic.startswith(PREFIX) for topic in place.topics):
            found.append(place)
    return found


def _names(topics: Mapping[str, object]) -> dict[str, str]:
    return {str(name): str(own) for name, own in topics.items()}


def refuse_shared(project: Project) -> None:
    """Make sure that nothing of a proof would lie where the deployment's own things are.

    Raises:
        RefusedError: tables would be in the deployment's storage.
    """
    deployment = project.deployment
    if deployment.storage:
        raise RefusedError(
            f"the deployment {deployment.name} keeps tables in {deployment.storage}, which a proof must not touch.",
            fix="prove in a deployment without `storage`.",
        )


def refuse_no_room(proofs: Path, records: float) -> None:
    """Make sure that the disk has room for a proof, with so many records at most.

    Raises:
        NotReadyError: it has not.
    """
    proofs.mkdir(parents=True, exist_ok=True)
    needed, free = _LEAST_BYTES + records * _RECORD_BYTES, shutil.disk_usage(proofs).free
    if free < needed:
        raise NotReadyError(
            f"{proofs} has {free / MIB:,.0f} MiB left, and a proof needs {needed / MIB:,.0f}.",
            fix="free some space, or send less: lower `--rate` and `--seconds`.",
        )
