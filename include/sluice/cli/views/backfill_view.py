"""A recorded backfill with the result and reports of its process, for people and for programs."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.markup import escape

from sluice.cli.terminal.output import out, out_lines
from sluice.intervals.backfill.acceptance import GATE_FAILED
from sluice.intervals.backfill.backfills import OPEN, Backfill, BackfillState
from sluice.intervals.backfill.progress import expected_end, progress_in_words
from sluice.launch.batch_process import LOG
from sluice.project.project import Project

STYLES = {
    BackfillState.SUBMITTED: "cyan",
    BackfillState.RUNNING: "cyan",
    BackfillState.DONE: "green",
    BackfillState.FAILED: "red",
    BackfillState.CANCELLED: "yellow",
}


def backfill_as_dict(project: Project, found: Backfill) -> dict[str, Any]:
    """Return a backfill as JSON values."""
    asked, end = found.request, expected_end(found)
    return {
        "id": found.id,
        "key": found.key,
        "pipeline": asked.pipeline,
        "from": asked.range.start.isoformat(),
        "to": asked.range.end.isoformat(),
        "mode": asked.mode,
        "only": asked.only,
        "by": asked.by,
        "reason": asked.why,
        "accepts": asked.accepts,
        "state": found.state,
        "alive": project.processes.backfill_lock(found.id).held() if found.state is BackfillState.RUNNING else False,
        "claimed_at": found.claimed_at.isoformat(),
        "ended_at": found.ended_at and found.ended_at.isoformat(),
        "done": found.done,
        "total": found.total,
        "expected_end": end and end.isoformat(),
        "outcome": found.outcome,
        "why": found.why,
        "cancel_requested_by": found.cancel_requested_by,
        "result": _result(project, found),
        "pages": [str(page) for page in _pages(project, found)],
    }


def print_backfill(project: Project, found: Backfill, now: datetime) -> None:
    """Print a backfill for people; `now` is in UTC."""
    asked, style = found.request, STYLES[found.state]
    out.print(f"{escape(found.id)}: [{style}]{found.state}[/{style}] {found.outcome}".rstrip(), soft_wrap=True)
    lines = {
        "request": f"{asked.mode} of {asked.range.start:%FT%RZ} to {asked.range.end:%FT%RZ}, by {asked.by}"
        + (f" ({asked.why})" if asked.why else "")
        + (f", accepting the violations of {asked.accepts}" if asked.accepts else ""),
        "progress": progress_in_words(found, now),
        "why": found.why,
        "cancel": f"requested by {found.cancel_requested_by}" if found.cancel_requested_by else "",
        "result": _result_in_words(_result(project, found)),
    }
    if found.state is BackfillState.RUNNING and not project.processes.backfill_lock(found.id).held():
        lines["process"] = f"gone; run it again with --key {found.key} to resume it"
    if found.state is BackfillState.SUBMITTED:
        lines["process"] = (
            "has not claimed its range yet; on a busy machine it runs at low priority (SLUICE_BATCH_NICENESS)"
        )
    if found.outcome == GATE_FAILED:
        lines["accept"] = f"fix the cause and run it again, or sluice backfill accept {found.id} --why REASON"
    for name, text in lines.items():
        if text:
            out_lines.print(f"  {name:<9} {text}")
    for page in _pages(project, found):
        out_lines.print(f"  report    {page}")


def _result(project: Project, found: Backfill) -> dict[str, Any]:
    """Return the batch's result file; empty while it runs, or without a readable file."""
    if found.state in OPEN:
        return {}
    try:
        result: dict[str, Any] = json.loads((project.folder.backfill(found.id) / "result.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return result


def _result_in_words(result: dict[str, Any]) -> str:
    if not result:
        return ""
    parts = [f"{result['compared']:,} compared", f"{result['published']:,} published"]
    parts += [f"{result[name]:,} {name.replace('_', ' ')}" for name in ("late_records", "explained", "unexplained")]
    if gate := result.get("gate"):
        parts.append(f"gate {'passed' if gate['passed'] else 'failed'}")
    return ", ".join(parts)


def _pages(project: Project, found: Backfill) -> list[Path]:
    folder = project.folder.backfill(found.id)
    files = (folder / name for name in ("parity.html", "quality.html", LOG))
    return [file for file in files if file.is_file()]
