"""Reports of proofs: what one holds, and those that are kept, by pipeline."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, Field, StringConstraints, ValidationError

from sluice.errors import CorruptionError, NotReadyError
from sluice.proof.figures import Count, Moment, ProofFact, ProofFigures
from sluice.proof.findings import ProofVerdict

REPORT, PAGE = "report.json", "report.html"
ID_PATTERN = r"^[a-z][a-z0-9_]{0,99}-[0-9]{8}T[0-9]{6}-[0-9a-f]{8}$"
"""Neither dot nor slash: no id leads out of the folder of proofs."""
_ID = re.compile(ID_PATTERN)
EXIT_CODES: Mapping[ProofVerdict, int] = {
    ProofVerdict.PROVEN: 0,
    ProofVerdict.BROKEN: 1,
    ProofVerdict.INCONCLUSIVE: 4,
}
"""What commands end with, by the verdict."""


class ReportedFinding(ProofFact):
    """A finding in words; see `ProofFinding`."""

    fault: str
    where: str = ""
    count: Count = 0
    example: str = ""
    detail: str = ""
    meaning: str = ""
    what_to_do: str = ""


class ReportedFault(ProofFact):
    """A fault that was requested; see `FiredFault`."""

    name: str
    at: Moment
    evidence: str = ""
    healed: bool | None = True


class ReportedLatency(ProofFact):
    """The latencies of an output; see `ProofLatencies`."""

    records: Count
    worst_minute: float
    p999: float
    slowest: str = ""


class ReportedBounds(ProofFact):
    """What was promised, in seconds; see `LatencyBounds`."""

    worst_minute: float | None = None
    p999: float | None = None
    fresh: float | None = None


class ProofReport(ProofFact):
    """What a proof has shown, as its file has it.

    Attributes:
        proof: its id.
        pipeline: that was proven.
        verdict: the conclusion.
        begun: when it began (UTC); None if it does not say.
        ended: when it ended (UTC).
        covered: the outputs that it is about.
        uncovered: those it says nothing about.
        rate: records per second.
        seconds: for how long records were to be sent at least.
        sent: how many records, by the outcome of their sending.
        made: how many records, by what they were made to be, such as `late`.
        alerts: that came, by name.
        alerts_beside: of the deployment that came meanwhile, in words.
        bounds: of latencies.
        faults: in their order.
        findings: why it is not PROVEN.
        latencies: by output.
        intervals_compared: how many were.
        looks: how many looks of readers were kept.
        figures: what is drawn.
    """

    proof: Annotated[str, StringConstraints(pattern=ID_PATTERN)]
    pipeline: str
    verdict: ProofVerdict
    begun: AwareDatetime | None = None
    ended: AwareDatetime | None = None
    covered: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    rate: float = 0
    seconds: float = 0
    sent: dict[str, Count] = Field(default_factory=dict)
    made: dict[str, Count] = Field(default_factory=dict)
    alerts: tuple[str, ...] = ()
    alerts_beside: tuple[str, ...] = ()
    bounds: ReportedBounds = ReportedBounds()
    faults: tuple[ReportedFault, ...] = ()
    findings: tuple[ReportedFinding, ...] = ()
    latencies: dict[str, ReportedLatency] = Field(default_factory=dict)
    intervals_compared: Count = 0
    looks: Count = 0
    figures: ProofFigures = ProofFigures()


def id_of(pipeline: str, at: datetime, chance: str) -> str:
    """Return the id of a proof: ids of a pipeline sort by their times.

    Args:
        pipeline: that is proven.
        at: when it begins (UTC).
        chance: eight hexadecimal digits, which two proofs do not share.
    """
    return f"{pipeline}-{at:%Y%m%dT%H%M%S}-{chance}"


def pipeline_of_proof(identity: str) -> str:
    """Return whose proof an id names."""
    return identity.rsplit("-", 2)[0]


class ProofReports:
    """The reports of a deployment.

    Args:
        folder: of all proofs; it may be missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ids(self) -> Mapping[str, Sequence[str]]:
        """Return by pipeline the ids of proofs that have come to an end, the newest first. No report is read."""
        found: dict[str, list[str]] = defaultdict(list)
        for file in self._folder.glob(f"*/{REPORT}"):
            if _ID.match(name := file.parent.name):
                found[pipeline_of_proof(name)].append(name)
        return {pipeline: sorted(found[pipeline], reverse=True) for pipeline in sorted(found)}

    def read(self, identity: str) -> ProofReport:
        """Return a report.

        Raises:
            NotReadyError: there is none of this id.
            CorruptionError: it cannot be understood.
        """
        file = self.file(identity)
        try:
            report = ProofReport.model_validate_json(file.read_bytes())
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotReadyError(
                f"there is no report of a proof {identity}.",
                fix="`sluice proofs list` shows those that there are; a proof that was killed has left none.",
            ) from error
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise CorruptionError(
                f"{file} is no report of a proof: {where}: {first['msg']}.",
                fix="prove the pipeline again, and remove the folder of this proof.",
            ) from error
        if report.proof != identity:
            raise CorruptionError(
                f"{file} is the report of another proof, {report.proof}.", fix="remove the folder of this proof."
            )
        return report

    def file(self, identity: str) -> Path:
        """Return the file of a report, whether it is there or not.

        Raises:
            NotReadyError: no proof can have this id.
        """
        if not _ID.match(identity):
            raise NotReadyError(
                f"{identity!r} is no id of a proof.", fix="`sluice proofs list` shows those that there are."
            )
        return self._folder / identity / REPORT
