"""`sluice intervals`: the state of each interval, its writer, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sluice.cli.advance import advance
from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import PipelineArgument
from sluice.cli.terminal.instants import METAVAR, SinceOption, UntilOption, start_of
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out, out_lines, print_fields
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.errors import SluiceError, SpecError
from sluice.intervals.alignment import Interval, interval_of
from sluice.intervals.backfill.advice import Advice, advise
from sluice.intervals.ledger import Ledger, LedgerRow, State, Written
from sluice.project.project import Project
from sluice.settings import settings

app = typer.Typer(help="Show the interval ledger.", no_args_is_help=True)

_LINES = 500
"""The default number of lines per pipeline."""

_STYLES = {
    State.OPEN: "dim",
    State.CLOSED: "green",
    State.PUBLISHED: "green",
    State.DIRTY: "red",
    State.STALE: "yellow",
}


@app.command("list")
def list_(
    pipeline: Annotated[
        str,
        typer.Argument(
            help="A pipeline: a file in include/pipelines, without .yaml. Default: all valid ones.",
            autocompletion=completion.pipelines,
        ),
    ] = "",
    state: Annotated[
        str,
        typer.Option(
            metavar="STATE,…", help="Only intervals in these states.", autocompletion=completion.interval_states
        ),
    ] = "",
    since: SinceOption = None,
    until: UntilOption = None,
    *,
    limit: Annotated[int, typer.Option(min=1, help="The number of lines per pipeline: the newest ones.")] = _LINES,
    output: OutputOption = Output.TABLE,
) -> None:
    """List closed and dirty intervals, judged by today's code, and count them by state.

    Adjacent intervals without rows and with the same properties share one line.

    Exit codes: 0; 2 the pipeline or a state does not exist; 4, 6 a log could not be read, and the index is shown
    instead.
    """
    states = states_of(state)
    project = open_pipeline(pipeline)[0] if pipeline else Project.open_tolerant(settings())
    names = [pipeline] if pipeline else list(project.catalog.interval_pipelines)
    listings = [
        _Listing(name, _read_ledger(project, name), project.code_of(name), since, until, states, limit)
        for name in names
    ]
    emit(output, {each.pipeline: each.as_dict() for each in listings}, lambda: _print_listings(listings))
    _print_notes([each.reading for each in listings])


@app.command()
def show(
    pipeline: PipelineArgument,
    start: Annotated[
        datetime, typer.Argument(parser=start_of, metavar=METAVAR, help="Any time within the interval (UTC).")
    ],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one interval in detail, and what to do about it.

    Exit codes: 0; 2 the pipeline does not exist; 4, 6 the log could not be read, and the index is shown instead.
    """
    project, spec = open_pipeline(pipeline)
    reading, code = _read_ledger(project, pipeline), project.code_of(pipeline)
    interval = interval_of(start, spec.intervals.interval_length)
    row = reading.ledger.rows.get(interval.start) or LedgerRow(interval)
    ledger = reading.ledger
    advice = advise(row, ledger.closed_until, code, repair=spec.backfill.repair, whole=ledger.whole)
    due = {"why": advice.why, "command": command_for(pipeline, interval, advice), "by_itself": advice.by_itself}
    data = {"pipeline": pipeline, **row_as_dict(row, code), "code": code, "what_to_do": due}
    emit(output, data, lambda: _print_row(pipeline, row, code, advice))
    _print_notes([reading])


app.command()(advance)


def states_of(text: str) -> set[State]:
    """Parse states that are separated by commas; an empty text means all.

    Raises:
        SpecError: a state does not exist.
    """
    names = {name.strip() for name in text.split(",") if name.strip()}
    if unknown := sorted(names - set(State)):
        raise SpecError(f"unknown state: {', '.join(unknown)}.", fix=f"use some of {', '.join(State)}.")
    return {State(name) for name in names} or set(State)


def row_as_dict(row: LedgerRow, code: str) -> dict[str, Any]:
    """Return an interval as JSON values."""
    return {
        "from": row.interval.start.isoformat(),
        "to": row.interval.end.isoformat(),
        "intervals": row.count,
        "state": row.state(code),
        "dirty": list(row.dirty),
        "current": row.current and _written_as_dict(row.current),
        "base": row.base and _written_as_dict(row.base),
        "verified": row.verified
        and {"backfill": row.verified.backfill, "code": row.verified.code, "at": row.verified.at.isoformat()},
    }


def command_for(pipeline: str, interval: Interval, advice: Advice) -> str:
    """Return the command for an advice; empty if there is nothing to do."""
    if advice.mode is None:
        return ""
    only = "" if advice.only == "all" else f" --only {advice.only}"
    why = " --why '…'" if advice.mode == "recompute" and advice.only == "all" else ""
    bounds = f"--from {interval.start:%FT%RZ} --to {interval.end:%FT%RZ}"
    return f"sluice backfill run {pipeline} {bounds} --mode {advice.mode}{only}{why}"


def _written_as_dict(written: Written) -> dict[str, Any]:
    return {
        "owner": written.owner,
        "generation": written.generation,
        "version": written.version,
        "at": written.at.isoformat(),
        "offsets": dict(written.offsets),
        "topics": list(written.topics),
        "code": written.code,
        "rows": written.content.rows,
        "checksum": written.content.checksum,
        "late": written.late,
    }


@dataclass(frozen=True)
class _LedgerReading:
    """A pipeline's ledger and its source.

    Attributes:
        ledger: the intervals.
        note: for people, if log or index could not be used; else empty.
        error: why the log could not be read; then the ledger comes from the index.
    """

    ledger: Ledger
    note: str = ""
    error: SluiceError | None = None


def _read_ledger(project: Project, pipeline: str) -> _LedgerReading:
    """Refresh the index and return the ledger.

    Raises:
        SluiceError: neither the log nor the index can be read.
    """
    try:
        return _LedgerReading(project.tables.index().refresh(pipeline).ledger)
    except SluiceError as failed:
        not_refreshed = failed
    try:
        truth = project.tables.ledger(pipeline)
    except SluiceError as unreadable:
        known = project.tables.index().ledger(pipeline)
        note = f"the log cannot be read; this is the index of {pipeline} at table version {known.version}: "
        return _LedgerReading(known, f"{note}{unreadable}", unreadable)
    return _LedgerReading(truth, f"read from the log only; the index of {pipeline} was not refreshed: {not_refreshed}")


@dataclass(frozen=True)
class _Listing:
    """The intervals of a pipeline in `[since, until)`, and those of them that are in some states."""

    pipeline: str
    reading: _LedgerReading
    code: str
    since: datetime | None
    until: datetime | None
    states: set[State]
    limit: int

    @cached_property
    def rows(self) -> list[LedgerRow]:
        return list(self.reading.ledger.between(self.since, self.until))

    @cached_property
    def shown(self) -> list[LedgerRow]:
        return [row for row in self.rows if row.state(self.code) in self.states]

    def as_dict(self) -> dict[str, Any]:
        closed_until = self.reading.ledger.closed_until
        return {
            "closed_until": closed_until and closed_until.isoformat(),
            "version": self.reading.ledger.version,
            "whole_from": self.reading.ledger.whole and self.reading.ledger.whole.to_json(),
            "code": self.code,
            "note": self.reading.note,
            "counts": _counts(self.rows, self.code),
            "left_off": max(0, len(self.shown) - self.limit),
            "intervals": [row_as_dict(row, self.code) for row in self.shown[-self.limit :]],
        }


def _print_listings(listings: Iterable[_Listing]) -> None:
    for each in listings:
        if each.shown:
            out.print(_table(each.shown[-each.limit :], each.code))
        if (left_off := len(each.shown) - each.limit) > 0:
            what = f"{left_off:,} earlier {'line is' if left_off == 1 else 'lines are'} not shown"
            out_lines.print(f"{what}; use --limit, --from and --to.", style="dim")
        counts = ", ".join(f"{count:,} {state}" for state, count in _counts(each.rows, each.code).items())
        until = each.reading.ledger.closed_until
        closed = "nothing is closed yet" if until is None else f"closed until {until:%F %R} UTC"
        out_lines.print(f"{each.pipeline}: {counts}; {closed}.")
        if (whole := each.reading.ledger.whole) is not None:
            out_lines.print(f"{each.pipeline}: {whole.text}")


def _table(rows: Sequence[LedgerRow], code: str) -> Table:
    table = Table("interval (UTC)", "state", box=None)
    joined = any(row.count > 1 for row in rows)
    for heading in (*(["intervals"] if joined else []), "rows", "late", "version"):
        table.add_column(heading, justify="right")
    table.add_column("written by")
    for row in rows:
        first, state, count, *rest = _row_cells(row, code)
        table.add_row(first, state, *([count] if joined else []), *rest)
    return table


def _counts(rows: Iterable[LedgerRow], code: str) -> dict[str, int]:
    counts: Counter[State] = Counter()
    for row in rows:
        counts[row.state(code)] += row.count
    return {state.value: counts[state] for state in State if state is not State.OPEN}


def _row_cells(row: LedgerRow, code: str) -> tuple[str, ...]:
    state, written = row.state(code), row.current
    styled = f"[{_STYLES[state]}]{state}[/{_STYLES[state]}]"
    first, count = f"{row.interval.start:%F %R}", f"{row.count:,}" if row.count > 1 else ""
    if written is None:
        return first, styled, count, "", "", "", ""
    late = "in" if written.late else ""
    owner = escape(written.owner) if written.generation is None else f"generation {written.generation}"
    return first, styled, count, f"{written.content.rows:,}", late, f"{written.version}", owner


def _print_row(pipeline: str, row: LedgerRow, code: str, advice: Advice) -> None:
    state = row.state(code)
    bounds = f"{row.interval.start:%F %R} to {row.interval.end:%F %R} UTC"
    out.print(f"{pipeline}, {bounds}: [{_STYLES[state]}]{state}[/{_STYLES[state]}]")
    for reason in row.dirty:
        out_lines.print(f"  dirty: {reason}")
    if row.current is not None:
        _print_written("readers see", row.current, code)
    if row.base is not None and row.base != row.current:
        _print_written("parity compares with", row.base, code)
    if row.verified is not None:
        whose = "today's code" if row.verified.code == code else f"other code ({row.verified.code})"
        at = f"{row.verified.at:%F %T} UTC"
        out_lines.print(f"verified by {row.verified.backfill} with {whose} at {at}")
    out_lines.print(advice.why)
    if advice.by_itself:
        out.print("A repair starts automatically. To start it now:")
    if command := command_for(pipeline, row.interval, advice):
        out_lines.print(f"  {command}")


def _print_written(title: str, written: Written, code: str) -> None:
    generation = "" if written.generation is None else f", generation {written.generation}"
    offsets = ", ".join(f"{partition} < {offset}" for partition, offset in sorted(written.offsets.items()))
    lines = {
        "written by": f"{written.owner}{generation}",
        "at": f"{written.at:%F %T} UTC, table version {written.version}",
        "rows": f"{written.content.rows:,}, checksum {written.content.checksum}",
        "raw offsets": offsets or "none",
        "topics": ", ".join(written.topics) if len(written.topics) > 1 else "",
        "late records": "included" if written.late else "not included",
        "code": f"{written.code} (today's)" if written.code == code else written.code,
    }
    out.print(f"{title}:")
    print_fields(lines, 13)


def _print_notes(readings: Sequence[_LedgerReading]) -> None:
    """Print notes on logs that could not be read, and exit with the code of the first such error."""
    for note in filter(None, (reading.note for reading in readings)):
        err_lines.print(f"sluice: {note}", style="yellow")
    if errors := [reading.error for reading in readings if reading.error is not None]:
        raise typer.Exit(errors[0].exit_code)
