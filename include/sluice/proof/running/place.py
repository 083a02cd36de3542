"""Where a proof runs: a folder with a copy of the project, in which one pipeline has a topic of its own."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sluice.control.database import sqlite_url
from sluice.errors import NotReadyError, RefusedError
from sluice.launch.keeper import start_ticks, write_durably
from sluice.launch.processes import lives
from sluice.project.project import Project
from sluice.proof.eligibility import is_covered
from sluice.proof.running.connection import copy_connection
from sluice.settings import Settings, StateFolder
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import Output, WrittenTopic

PREFIX = "prove_"
_RECORD = "proof.json"
MIB = 1 << 20
_LEAST_BYTES, _RECORD_BYTES = 512 * MIB, 10_000
"""What a proof takes without records, and for each: in the broker, in tables, in the journal."""
_LEFT_OUT = ("alerts", "page", "mirror_group", "schedule", "stop_when_idle", "start", "output", "source", "time")


@dataclass(frozen=True)
class ProofPlace:
    """The folder of one proof.

    Attributes:
        root: the folder; the report and the journal stay in it.
        topic: the topic of its own.
        pipeline: that is proven.
        filled: further topics of its own, which its outputs fill, by the names that they have in the deployment.
    """

    root: Path
    topic: str
    pipeline: str
    filled: Mapping[str, str] = field(default_factory=dict)

    @property
    def topics(self) -> tuple[str, ...]:
        """All topics of its own."""
        return (self.topic, *self.filled.values())

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
        entry: dict[str, object] = {"pid": pid, "ticks": start_ticks(pid), "topic": self.topic}
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
            filled = {str(name): str(own) for name, own in entry.get("filled", {}).items()}
            place = ProofPlace(file.parent, str(entry["topic"]), str(entry["pipeline"]), filled)
            alive = lives(int(entry["pid"]), ticks=entry["ticks"])
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
        ):  # it is written whole or not at all, so this is not ours
            continue
        if not alive and all(topic.startswith(PREFIX) for topic in place.topics):
            found.append(place)
    return found


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


def copy_project(project: Project, spec: PipelineSpec, place: ProofPlace) -> None:
    """Write the copy: the pipeline with the outputs that are checked, its topics under other names, its code.

    Raises:
        OSError: there is no room.
    """
    home, include = project.settings.home, place.root / "project" / "include"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(home / "spark_jobs", place.root / "project" / "spark_jobs", ignore=ignored)
    for name in ("topics", "pipelines", "deployments"):
        (include / name).mkdir(parents=True)
    for file in (home / "include").iterdir():
        if file.is_file():
            shutil.copy2(file, include / file.name)
    suite = home / "include" / "expectations" / f"{spec.name}.yaml"
    if suite.exists():
        (include / "expectations").mkdir()
        shutil.copy2(suite, include / "expectations" / suite.name)
    ((source, read),) = spec.topic_sources.items()
    _write(include / f"topics/{place.topic}.yaml", _topic(home, read.topic, place.topic, spec.driver))
    _write(include / f"pipelines/{spec.name}.yaml", _pipeline(home, spec, source, place))
    copy_connection(project, include, place.state)


def _pipeline(home: Path, spec: PipelineSpec, source: str, place: ProofPlace) -> dict[str, Any]:
    document = _read(home / f"include/pipelines/{spec.name}.yaml")
    declared = [document["output"]] if document.get("output") else document["outputs"]
    outputs = [_output(home, *each, place) for each in zip(declared, spec.every_output, strict=True)]
    rules = document["sources"][source] if document.get("sources") else {"time": document["time"]}
    own = {key: value for key, value in document.items() if key not in _LEFT_OUT}
    kept = [each for each, output in zip(outputs, spec.every_output, strict=True) if is_covered(output)]
    return {**own, "sources": {source: {**rules, "topic": place.topic}}, "outputs": kept}


def _output(home: Path, declared: dict[str, Any], output: Output, place: ProofPlace) -> dict[str, Any]:
    """Return an output as the copy declares it: a topic under another name, which it always creates."""
    if not isinstance(output, WrittenTopic):
        return {"kind": output.kind, **declared}
    shape = declared.get("create") or {"partitions": _read(home / f"include/topics/{output.topic}.yaml")["partitions"]}
    return {**declared, "topic": place.filled[output.topic], "create": shape}


def _topic(home: Path, name: str, own_name: str, driver: str) -> dict[str, Any]:
    """Return the topic under another name; its raw table is filled by the driver of the pipeline, all the time."""
    document = _read(home / f"include/topics/{name}.yaml")
    raw = {key: value for key, value in document["raw"].items() if key not in _LEFT_OUT}
    return {**document, "name": own_name, "raw": {**raw, "driver": driver}}


def _read(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return document


def _write(file: Path, document: Mapping[str, Any]) -> None:
    file.write_text(yaml.safe_dump(dict(document), sort_keys=False), encoding="utf-8")
