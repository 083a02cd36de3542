"""What a backfill leaves behind: per chunk what it found, and at its end the reports for people and programs.

A chunk's evidence is on disk before the chunk is published, so a resumed backfill can still report all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sluice.disk import replacing, write_text
from sluice.errors import CorruptionError
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.intervals.backfill.parity import PASSES, IntervalParity, ParityReport
from sluice.intervals.backfill.raw_parity import RawParity
from sluice.intervals.backfill.request import Mode
from sluice.intervals.backfill.trial import NO_COLUMN_CHANGES, ColumnChanges, RowDifference
from sluice.quality.gate import GateResult
from sluice.reports.parity import parity_page
from sluice.reports.quality import quality_page

_SAMPLES = 20
FAILED, CANCELLED = "failed", "cancelled"
"""Outcomes of a backfill beside those of its parity report and `GATE_FAILED`."""


@dataclass(frozen=True)
class ChunkResult:
    """What was found of one chunk.

    Attributes:
        parities: of its intervals, in order.
        gate: what the quality gate said; None if there was nothing to publish.
        to_publish: starts of the intervals that were to be published if the gate let them through.
        columns: how the columns differ; only a trial compares them.
        code: the hash of the code that was tried; empty unless it was a trial.
        raw: what a comparison of the raw table with Kafka found; None unless it was a verification.
        cross_check: what DuckDB says; None unless it was a verification of a transform in SQL.
    """

    parities: tuple[IntervalParity, ...]
    gate: GateResult | None = None
    to_publish: tuple[datetime, ...] = ()
    columns: ColumnChanges = NO_COLUMN_CHANGES
    code: str = ""
    raw: RawParity | None = None
    cross_check: CrossCheck | None = None

    @property
    def passes(self) -> bool:
        """Whether every interval and the raw table are as they should be, and the gate lets through what is made."""
        identical = all(parity.outcome in PASSES for parity in self.parities)
        return identical and (self.raw is None or self.raw.sound) and (self.gate is None or self.gate.passed)

    @property
    def published(self) -> tuple[datetime, ...]:
        """The intervals that are published, or about to be."""
        return self.to_publish if self.passes else ()


@dataclass(frozen=True)
class Result:
    """How a backfill ended.

    Attributes:
        backfill: its id.
        outcome: of its report, or `gate_failed`, `failed`, `cancelled`.
        why: one sentence; empty if all is as it should be.
        published: starts of the intervals that were published.
        report: what was compared; None if it did not come to that.
        gate: the result of the last quality gate.
    """

    backfill: str
    outcome: str
    why: str = ""
    published: tuple[datetime, ...] = ()
    report: ParityReport | None = None
    gate: GateResult | None = None

    @property
    def passed(self) -> bool:
        """Whether all is as it should be."""
        return self.outcome in PASSES

    def to_json(self) -> str:
        """Return it for programs."""
        report, gate = self.report, self.gate
        data: dict[str, object] = {
            "id": self.backfill,
            "outcome": self.outcome,
            "passed": self.passed,
            "why": self.why,
            "published": len(self.published),
            "from": self.published[0].isoformat() if self.published else None,
            "to": self.published[-1].isoformat() if self.published else None,
            "compared": len(report.intervals) if report else 0,
            "late_records": report.totals.late if report else 0,
            "explained": report.explained if report else 0,
            "unexplained": report.unexplained if report else 0,
            **_trial(report),
            **({"raw": report.raw.as_json()} if report and report.raw else {}),
            "gate": None
            if gate is None
            else {
                "passed": gate.passed,
                "expectations": {"passed": gate.expectations_passed, "failed": gate.expectations_failed},
                "failures": gate.failures,
                "overridden": gate.overridden,
            },
        }
        return json.dumps(data, indent=1)


def _trial(report: ParityReport | None) -> dict[str, object]:
    if report is None or report.mode is not Mode.TRY:
        return {}
    totals = report.totals
    return {
        "code": report.code,
        "rows": {
            "identical": totals.identical,
            "changed": totals.different,
            "only_new": totals.missing,
            "only_old": totals.extra,
        },
        "columns": asdict(report.columns),
    }


class ResultFolder:
    """A backfill's folder (`StateFolder.backfill(id)`)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def store(self, chunk: int, result: ChunkResult) -> None:
        """Put a chunk's evidence on disk."""
        self._write(f"chunk-{chunk}.json", _adapter().dump_json(result).decode())

    def store_differences(self, chunk: int, differences: Iterable[RowDifference]) -> list[RowDifference]:
        """Put every difference that a trial of a chunk found on disk, one per line, and return the first ones."""
        first: list[RowDifference] = []
        self._folder.mkdir(parents=True, exist_ok=True)
        with replacing(self._folder / f"differences-{chunk}.jsonl") as draft, draft.open("w", encoding="utf-8") as file:
            for difference in differences:
                file.write(f"{difference.to_json()}\n")
                if len(first) < _SAMPLES:
                    first.append(difference)
        return first

    def chunks(self) -> dict[int, ChunkResult]:
        """Return the evidence of all chunks, by number.

        Raises:
            CorruptionError: a file cannot be read.
        """
        files = sorted((int(path.stem.partition("-")[2]), path) for path in self._folder.glob("chunk-*.json"))
        try:
            return {number: _adapter().validate_json(path.read_bytes()) for number, path in files}
        except ValidationError as error:
            raise CorruptionError(
                f"{self._folder} holds a chunk's evidence that cannot be read: {error}.",
                fix="start the backfill again, under another key.",
            ) from error

    def report(self, result: Result, facts: Mapping[str, str]) -> None:
        """Write `parity` and `quality` as JSON and page, as far as there are results, and last `result.json`."""
        if result.report is not None:
            self._write("parity.json", result.report.to_json())
            self._write("parity.html", parity_page(result.report, facts=facts))
        if result.gate is not None:
            title = f"Backfill {result.backfill}"
            self._write("quality.json", result.gate.to_json())
            self._write("quality.html", quality_page(result.gate, title=title, facts=facts))
        self._write("result.json", result.to_json())

    def _write(self, name: str, text: str) -> None:
        write_text(self._folder / name, text)


@cache
def _adapter() -> TypeAdapter[ChunkResult]:
    return TypeAdapter(ChunkResult)
