"""`sluice intervals`: who wrote each interval, in which state it is, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.instants import METAVAR, SinceOption, UntilOption, start_of
from sluice.cli.terminal.output import Output, OutputOption, err, out, print_data
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.cli.views.ledger_view import LedgerLook, look
from sluice.errors import SpecError
from sluice.intervals.alignment import Interval, interval_of
from sluice.intervals.backfill.advice import Advice, advise
from sluice.intervals.ledger import Ledger, LedgerRow, State, Written
from sluice.project.project import Project
from sluice.settings import settings

app = typer.Typer(help="Show the interval ledger.", no_args_is_help=True)

_LINES = 500
"""How many lines of a pipeline are shown, unless somebody wants more."""

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
            help="A file in include/pipelines; omitted: all that are sound.", autocompletion=completion.pipelines
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
    limit: Annotated[int, typer.Option(min=1, help="Show this many lines of a pipeline, the newest ones.")] = _LINES,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show closed and dirty intervals as today's code sees them, and how many are in each state.

    Intervals without rows that are alike and side by side are one line.

    Exit codes: 0; 2 there is no such pipeline or state; 4, 6 a log could not be read (what the index last knew is
    shown).
    """
    states = states_of(state)
    project = open_pipeline(pipeline)[0] if pipeline else Project.open_tolerant(settings())
    names = [pipeline] if pipeline else list(project.catalog.interval_pipelines)
    looks = {name: look(project, name) for name in names}
    codes = {name: project.code_of(name) for name in names}
    rows = {name: rows_between(looks[name].ledger, since, until) for name in names}
    shown = {name: [row for row in rows[name] if row.state(codes[name]) in states] for name in names}
    if output.for_programs:
        print_data(output, {name: _listing(looks[name], rows[name], shown[name], codes[name], limit) for name in names})
    else:
        for name in names:
            _print_listing(name, looks[name], rows[name], shown[name], code=codes[name], limit=limit)
    _tell_notes(looks.values())


@app.command()
def show(
    pipeline: Annotated[
        str,
        typer.Argument(help="A file in include/pipelines, without its ending.", autocompletion=completion.pipelines),
    ],
    start: Annotated[
        datetime, typer.Argument(parser=start_of, metavar=METAVAR, help="Any instant of the interval; UTC.")
    ],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show all that is known of one interval, and what to do about it.

    Exit codes: 0; 2 there is no such pipeline; 4, 6 the log could not be read (what the index last knew is shown).
    """
    project, spec = open_pipeline(pipeline)
    found, code = look(project, pipeline), project.code_of(pipeline)
    wanted = interval_of(start, spec.intervals.interval_length)
    row = found.ledger.rows.get(wanted.start) or LedgerRow(wanted)
    advice = advise(row, found.ledger.closed_until, code, repair=spec.backfill.repair)
    if output.for_programs:
        command = command_for(pipeline, wanted, advice)
        due = {"why": advice.why, "command": command, "by_itself": advice.by_itself}
        print_data(output, {"pipeline": pipeline, **row_as_dict(row, code), "code": code, "what_to_do": due})
    else:
        _print_row(pipeline, row, code, advice)
    _tell_notes([found])


def states_of(text: str) -> set[State]:
    """Return the states that are named, separated by commas; all for an empty text.

    Raises:
        SpecError: one is none.
    """
    names = {name.strip() for name in text.split(",") if name.strip()}
    unknown = sorted(names - set(State))
    if unknown:
        raise SpecError(f"{', '.join(unknown)} is no state of an interval.", fix=f"use some of {', '.join(State)}.")
    return {State(name) for name in names} or set(State)


def rows_between(ledger: Ledger, since: datetime | None, until: datetime | None) -> list[LedgerRow]:
    """Return the rows of intervals that lie in `[since, until)`, in order; one may stand for several intervals."""
    return list(ledger.between(since, until))


def row_as_dict(row: LedgerRow, code: str) -> dict[str, Any]:
    """Return all that is known of an interval as JSON values."""
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
    """Return the command that does what is advised; empty if there is nothing to do."""
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
        "watermark": written.watermark and written.watermark.isoformat(),
        "codes": list(written.codes),
        "rows": written.content.rows,
        "checksum": written.content.checksum,
        "late": written.late,
    }


def _listing(
    found: LedgerLook, rows: Sequence[LedgerRow], shown: Sequence[LedgerRow], code: str, limit: int
) -> dict[str, Any]:
    closed_until = found.ledger.closed_until
    return {
        "closed_until": closed_until and closed_until.isoformat(),
        "version": found.ledger.version,
        "code": code,
        "note": found.note,
        "counts": _counts(rows, code),
        "left_off": max(0, len(shown) - limit),
        "intervals": [row_as_dict(row, code) for row in shown[-limit:]],
    }


def _counts(rows: Iterable[LedgerRow], code: str) -> dict[str, int]:
    counts: Counter[State] = Counter()
    for row in rows:
        counts[row.state(code)] += row.count
    return {state.value: counts[state] for state in State if state is not State.OPEN}


def _print_listing(
    name: str, found: LedgerLook, rows: Sequence[LedgerRow], shown: Sequence[LedgerRow], *, code: str, limit: int
) -> None:
    table = Table("interval (UTC)", "state", box=None)
    joined = any(row.count > 1 for row in shown[-limit:])
    for heading in (*(["intervals"] if joined else []), "rows", "late", "version"):
        table.add_column(heading, justify="right")
    table.add_column("written by")
    for row in shown[-limit:]:
        first, state, count, *rest = _row_cells(row, code)
        table.add_row(first, state, *([count] if joined else []), *rest)
    if shown:
        out.print(table)
    if (left_off := len(shown) - limit) > 0:
        what = f"{left_off:,} earlier {'line is' if left_off == 1 else 'lines are'} left off"
        out.print(f"{what}; see them by --limit, --from and --to.", style="dim", markup=False, soft_wrap=True)
    counts = ", ".join(f"{count:,} {state}" for state, count in _counts(rows, code).items())
    until = found.ledger.closed_until
    closed = "nothing is closed yet" if until is None else f"closed until {until:%F %R} UTC"
    out.print(f"{name}: {counts}; {closed}.", markup=False, soft_wrap=True)


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
        out.print(f"  dirty: {reason}", markup=False, soft_wrap=True)
    if row.current is not None:
        _print_written("readers see", row.current, code)
    if row.base is not None and row.base != row.current:
        _print_written("parity compares with", row.base, code)
    if row.verified is not None:
        whose = "today's code" if row.verified.code == code else f"other code ({row.verified.code})"
        at = f"{row.verified.at:%F %T} UTC"
        out.print(f"verified by {row.verified.backfill} with {whose} at {at}", markup=False, soft_wrap=True)
    out.print(advice.why, markup=False, soft_wrap=True)
    if advice.by_itself:
        out.print("A repair starts by itself; to start it now:")
    if command := command_for(pipeline, row.interval, advice):
        out.print(f"  {command}", markup=False, soft_wrap=True)


def _print_written(title: str, written: Written, code: str) -> None:
    generation = "" if written.generation is None else f", generation {written.generation}"
    codes = ", ".join(f"{one} (today's)" if one == code else one for one in written.codes)
    offsets = ", ".join(f"{partition} < {offset}" for partition, offset in sorted(written.offsets.items()))
    watermark = "" if written.watermark is None else f"{written.watermark:%F %T} UTC"
    lines = {
        "written by": f"{written.owner}{generation}",
        "at": f"{written.at:%F %T} UTC, table version {written.version}",
        "rows": f"{written.content.rows:,}, checksum {written.content.checksum}",
        "raw offsets": offsets or "none",
        "of topics": ", ".join(written.topics) if len(written.topics) > 1 else "",
        "late records": "in it" if written.late else "not in it",
        "watermark": watermark,
        "code": codes,
    }
    out.print(f"{title}:")
    for name, text in lines.items():
        if text:
            out.print(f"  {name:<14}{text}", markup=False, soft_wrap=True)


def _tell_notes(looks: Iterable[LedgerLook]) -> None:
    """Say on stderr what does not come from log and index alike, and end like the first log that cannot be read."""
    looks = list(looks)
    for found in looks:
        if found.note:
            err.print(f"sluice: {found.note}", style="yellow", markup=False, soft_wrap=True)
    error = next((found.error for found in looks if found.error is not None), None)
    if error is not None:
        raise typer.Exit(error.exit_code)
