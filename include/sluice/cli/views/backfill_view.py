"""A recorded backfill with the result and reports of its process, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.markup import escape

from sluice.cli.terminal.output import counted, out, out_lines, print_fields
from sluice.intervals.backfill.acceptance import GATE_FAILED
from sluice.intervals.backfill.backfills import OPEN, Backfill, BackfillState
from sluice.intervals.backfill.progress import expected_end, progress_in_words
from sluice.intervals.backfill.request import StaticChoice
from sluice.launch.batch_process import LOG
from sluice.launch.starvation import holders_starvation
from sluice.project.project import Project

STYLES = {
    BackfillState.SUBMITTED: "cyan",
    BackfillState.RUNNING: "cyan",
    BackfillState.DONE: "green",
    BackfillState.FAILED: "red",
    BackfillState.CANCELLED: "yellow",
}


def backfill_as_dict(project: Project, backfill: Backfill) -> dict[str, Any]:
    """Return a backfill as JSON values."""
    request, end = backfill.request, expected_end(backfill)
    running = backfill.state is BackfillState.RUNNING
    return {
        "id": backfill.id,
        "key": backfill.key,
        "pipeline": request.pipeline,
        "from": request.range.start.isoformat(),
        "to": request.range.end.isoformat(),
        "mode": request.mode,
        "only": request.only,
        "by": request.by,
        "reason": request.why,
        "accepts": request.accepts,
        "static": request.static,
        "state": backfill.state,
        "alive": running and project.processes.backfill_lock(backfill.id).held(),
        "claimed_at": backfill.claimed_at.isoformat(),
        "ended_at": backfill.ended_at and backfill.ended_at.isoformat(),
        "done": backfill.done,
        "total": backfill.total,
        "expected_end": end and end.isoformat(),
        "waits": waiting_in_words(project, backfill),
        "outcome": backfill.outcome,
        "why": backfill.why,
        "cancel_requested_by": backfill.cancel_requested_by,
        "result": _result(project, backfill),
        "pages": [str(page) for page in _pages(project, backfill)],
    }


def print_backfill(project: Project, backfill: Backfill, now: datetime) -> None:
    """Print a backfill for people; `now` is in UTC."""
    request, style, result = backfill.request, STYLES[backfill.state], _result(project, backfill)
    out.print(f"{escape(backfill.id)}: [{style}]{backfill.state}[/{style}] {backfill.outcome}".rstrip(), soft_wrap=True)
    lines = {
        "request": f"{request.mode} of {request.range.start:%FT%RZ} to {request.range.end:%FT%RZ}, by {request.by}"
        + (f" ({request.why})" if request.why else "")
        + (f", accepting the violations of {request.accepts}" if request.accepts else "")
        + (", with today's static inputs" if request.static is StaticChoice.NEWEST else ""),
        "progress": progress_in_words(backfill, now),
        "why": backfill.why,
        "cancel": f"requested by {backfill.cancel_requested_by}" if backfill.cancel_requested_by else "",
        "result": _result_in_words(result),
        "raw table": raw_in_words(result.get("raw", {})),
    }
    if waits := waiting_in_words(project, backfill):
        lines["process"] = waits
    if backfill.outcome == GATE_FAILED:
        lines["accept"] = f"fix the cause and run it again, or sluice backfill accept {backfill.id} --why REASON"
    print_fields(lines, 9)
    for page in _pages(project, backfill):
        out_lines.print(f"  report    {page}")


def waiting_in_words(project: Project, backfill: Backfill) -> str:
    """Return what a backfill waits for; empty if it has ended, or its process is at work."""
    if backfill.state is BackfillState.SUBMITTED:
        return "has not claimed its range yet; on a busy machine it runs at low priority (SLUICE_BATCH_NICENESS)"
    if backfill.state is not BackfillState.RUNNING:
        return ""
    lock = project.processes.backfill_lock(backfill.id)
    if not lock.held():
        return f"gone; run it again with --key {backfill.key} to resume it"
    return holders_starvation(lock.holder())


def _result(project: Project, backfill: Backfill) -> dict[str, Any]:
    """Return the batch's result file; empty while it runs, or without a readable file."""
    if backfill.state in OPEN:
        return {}
    try:
        result: dict[str, Any] = json.loads((project.folder.backfill(backfill.id) / "result.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return result


def _result_in_words(result: dict[str, Any]) -> str:
    if not result:
        return ""
    if rows := result.get("rows"):
        return rows_in_words(result["compared"], rows)
    parts = [f"{result['compared']:,} compared", f"{result['published']:,} published"]
    parts += [f"{result[name]:,} {name.replace('_', ' ')}" for name in ("late_records", "explained", "unexplained")]
    if gate := result.get("gate"):
        parts.append(f"gate {'passed' if gate['passed'] else 'failed'}")
    return ", ".join(parts)


def raw_in_words(raw: Mapping[str, Any]) -> str:
    """Return what a comparison of the raw table with Kafka found, for people; empty if there was none."""
    return str(raw.get("text", ""))


def rows_in_words(intervals: int, rows: Mapping[str, int]) -> str:
    """Return what a trial found, for people: `24 intervals compared; rows: 80 identical, 3 changed`."""
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in rows.items())
    return f"{counted(intervals, 'interval')} compared; rows: {counts}"


def _pages(project: Project, backfill: Backfill) -> list[Path]:
    folder = project.folder.backfill(backfill.id)
    differences = sorted(file for file in folder.glob("differences-*.jsonl") if file.stat().st_size)
    files = (*(folder / name for name in ("parity.html", "quality.html")), *differences, folder / LOG)
    return [file for file in files if file.is_file()]
