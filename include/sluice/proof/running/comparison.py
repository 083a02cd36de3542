"""Every interval of a proof's table, computed again by a batch process from the raw records, and compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from sluice.errors import UnreachableError
from sluice.intervals.backfill.parity import PASSES, ParityOutcome
from sluice.project.project import Project
from sluice.proof.observations import ComparedInterval
from sluice.proof.rows import IDLE
from sluice.proof.running.batches import run_batch

_LOG = "proof.log"
_ROWS = ("identical", "missing", "extra", "different")
"""Rows of a report, by what they are."""


def compare(project: Project, pipeline: str, start: datetime, end: datetime) -> tuple[ComparedInterval, ...]:
    """Verify the intervals of `[start, end)`.

    The batch has the control database of the proof's own state folder, and sends no lineage.
    """
    table = project.catalog.pipelines[pipeline].intervals.table
    span = ("--from", start.isoformat(), "--to", end.isoformat())
    asked = ("--mode", "verify", "--by", "sluice prove", "--why", "proof", "--key", "proof")
    try:
        log = run_batch(project, pipeline, ("backfill", "--pipeline", pipeline, *span, *asked), _LOG)
    except UnreachableError as error:
        return (ComparedInterval(table, "all", None, str(error)),)
    reports = sorted(project.folder.backfills.glob("*/parity.json"))
    if not reports:
        why = f"the comparison ended without a report; its log is {log}"
        return (ComparedInterval(table, "all", None, why),)
    return tuple(of_report(table, _read(reports[-1])))


def of_report(table: str, report: dict[str, Any]) -> Iterator[ComparedInterval]:
    """Yield the intervals of a parity report, and one more for what it says of the raw table, if that is unsound."""
    for interval in report["intervals"]:
        outcome = ParityOutcome(interval["outcome"])
        is_equal = None if outcome is ParityOutcome.INCONCLUSIVE else outcome in PASSES
        samples = "; ".join(interval.get("samples") or ())
        yield ComparedInterval(table, interval["from"], is_equal, samples or interval.get("why") or "")
    for interval in report["left"]:
        yield ComparedInterval(table, interval["from"], None, interval["why"])
    if report["outcome"] == ParityOutcome.RAW_MISMATCH:
        yield ComparedInterval(table, "raw records", False, ParityOutcome.RAW_MISMATCH.meaning)
    if report["intervals"] and not any(report["totals"][kind] for kind in _ROWS):
        yield ComparedInterval(table, "all", None, IDLE)


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_bytes())
    return found
