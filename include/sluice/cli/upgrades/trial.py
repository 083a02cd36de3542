"""A trial of the code on disk over the newest closed intervals of a unit's interval tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rich.table import Table

from sluice.cli.terminal.output import counted, err_lines, out, out_lines
from sluice.cli.terminal.user import requester
from sluice.cli.views.backfill_run import BackfillRun, run_backfill_process
from sluice.cli.views.backfill_view import backfill_as_dict, rows_in_words
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.request import Mode, Request
from sluice.intervals.backfill.trial import ColumnChanges, RowDifference
from sluice.intervals.ledger import Ledger, State
from sluice.project.project import Project
from sluice.specs.model.model import PipelineSpec

_SHOWN = 20


@dataclass(frozen=True)
class PipelineTrial:
    """A trial of one pipeline's code.

    Attributes:
        pipeline: its name.
        skipped: why there was nothing to try; empty if there was.
        run: the backfill; None if there was nothing to try.
        report: its parity report as JSON values; empty without one.
        differences: files with every difference of rows.
        page: the report for people; None without one.
    """

    pipeline: str
    skipped: str = ""
    run: BackfillRun | None = None
    report: dict[str, Any] | None = None
    differences: tuple[Path, ...] = ()
    page: Path | None = None

    @property
    def exit_code(self) -> int:
        """0: the code gives the same; 1: it gives something else, or that is not known; or that of the process."""
        if self.run is None:
            return 0
        same = self.run.backfill is not None and self.run.backfill.outcome == ParityOutcome.IDENTICAL
        return self.run.exit_code or (0 if same else 1)

    def first_differences(self) -> Iterator[RowDifference]:
        """Yield the first differences of rows."""
        lines = (line for file in self.differences for line in file.read_text(encoding="utf-8").splitlines())
        return (RowDifference.from_json(line) for line in islice(lines, _SHOWN))


def try_pipeline(project: Project, spec: PipelineSpec, intervals: int, why: str) -> PipelineTrial:
    """Try the code on disk over the newest closed intervals of a pipeline, and wait for the result.

    Raises:
        RefusedError: another backfill is in the way, or all of these intervals are dirty.
        NotReadyError: the process cannot be started.
    """
    ledger, code = project.tables.ledger(spec.name), project.code_of(spec.name)
    newest = newest_intervals(ledger, spec, intervals)
    if newest is None:
        return PipelineTrial(spec.name, skipped="no interval is closed yet, so there is nothing to compare with")
    if not any(row.state(code) is State.STALE for row in ledger.between(newest.start, newest.end)):
        return PipelineTrial(spec.name, skipped="the code on disk has written these intervals, or they are dirty")
    err_lines.print(f"{spec.name}: {newest.start:%FT%RZ} to {newest.end:%FT%RZ}", style="dim")
    run = run_backfill_process(project, spec, Request(spec.name, newest, Mode.TRY, by=requester(), why=why))
    return _read(project, spec.name, run)


def newest_intervals(ledger: Ledger, spec: PipelineSpec, count: int) -> Interval | None:
    """Return the range of the newest closed intervals; None if none is closed."""
    if ledger.closed_until is None or ledger.first is None:
        return None
    start = max(ledger.first, ledger.closed_until - count * spec.intervals.interval_length)
    return Interval(start, ledger.closed_until) if start < ledger.closed_until else None


def _read(project: Project, pipeline: str, run: BackfillRun) -> PipelineTrial:
    if run.backfill is None:
        return PipelineTrial(pipeline, run=run)
    folder = project.folder.backfill(run.backfill.id)
    page, report = folder / "parity.html", folder / "parity.json"
    return PipelineTrial(
        pipeline,
        run=run,
        report=json.loads(report.read_bytes()) if report.is_file() else None,
        differences=tuple(sorted(file for file in folder.glob("differences-*.jsonl") if file.stat().st_size)),
        page=page if page.is_file() else None,
    )


def trial_as_dict(project: Project, trial: PipelineTrial) -> dict[str, Any]:
    """Return a trial as JSON values."""
    run = trial.run
    if run is None:
        return {"skipped": trial.skipped}
    return {
        "skipped": "",
        "backfill": None if run.backfill is None else backfill_as_dict(project, run.backfill),
        "exit_code": run.code,
        "intervals": [_counts(each) for each in (trial.report or {}).get("intervals", ())],
        "differences": [str(file) for file in trial.differences],
        "log": str(run.log),
    }


def _counts(interval: dict[str, Any]) -> dict[str, Any]:
    named = {"identical": "identical", "changed": "different", "only_new": "missing", "only_old": "extra"}
    bounds = {name: interval[name] for name in ("from", "to", "outcome", "why")}
    return {**bounds, **{name: interval[counted_as] for name, counted_as in named.items()}}


def print_trial(trial: PipelineTrial) -> None:
    """Print a trial for people: what differs in each interval, the first differences, and where all of them are."""
    if trial.run is None:
        out_lines.print(f"{trial.pipeline}: nothing was tried: {trial.skipped}.")
        return
    backfill, report = trial.run.backfill, trial.report
    if backfill is None or report is None:
        trial.run.print_log_if_broken_off()
        out_lines.print(f"{trial.pipeline}: it could not be tried{'' if backfill is None else f': {backfill.why}'}")
        return
    intervals = [_counts(each) for each in report["intervals"]]
    totals = {name: sum(each[name] for each in intervals) for name in ("identical", "changed", "only_new", "only_old")}
    why = f" ({backfill.why})" if backfill.why else ""
    out_lines.print(f"{trial.pipeline}: {backfill.outcome}{why}")
    out_lines.print(f"  {rows_in_words(len(intervals), totals)}")
    columns = ColumnChanges(**{name: tuple(names) for name, names in report["columns"].items()})
    if columns:
        out_lines.print(f"  columns {columns.text}", style="yellow")
    if report["left"]:
        left = counted(len(report["left"]), "interval")
        out_lines.print(f"  {left} left out, the first: {report['left'][0]['why']}")
    _print_rows(trial, [each for each in intervals if each["changed"] or each["only_new"] or each["only_old"]])


def _print_rows(trial: PipelineTrial, differing: list[dict[str, Any]]) -> None:
    if differing:
        table = Table("interval (UTC)", "identical", "changed", "only new", "only old", box=None)
        for each in differing[-_SHOWN:]:
            counts = (f"{each[name]:,}" for name in ("identical", "changed", "only_new", "only_old"))
            table.add_row(each["from"][:16], *counts)
        out.print(table)
    for difference in trial.first_differences():
        out_lines.print(f"  {difference.interval:%FT%RZ} {difference.text}")
    for file in (*trial.differences, *filter(None, [trial.page])):
        out_lines.print(f"  report    {file}")
