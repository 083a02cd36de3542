"""`sluice audit`: who did what."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from sluice.audit.act import Act, ActOutcome
from sluice.audit.log import AuditLog
from sluice.cli.terminal.instants import METAVAR, start_of
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out_lines, terminal_for_data
from sluice.settings import settings

_STYLES = {ActOutcome.DONE: "green", ActOutcome.FAILED: "red", ActOutcome.REFUSED: "yellow"}


def audit(
    *,
    since: Annotated[
        datetime | None,
        typer.Option("--since", parser=start_of, metavar=METAVAR, help="Only acts of this time (UTC) or later."),
    ] = None,
    who: Annotated[str, typer.Option("--who", help="Only acts of this user, or of this DAG.")] = "",
    what: Annotated[str, typer.Option("--what", help="Only acts whose name has this text, such as `streams`.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The number of acts, newest first.")] = 50,
    output: OutputOption = Output.TABLE,
) -> None:
    """List who did what on this machine: commands and tasks that change something, newest first.

    An act is on record from its beginning; one that stays `open` was killed, or still works.

    Exit codes: 0; 3 the log cannot be read.
    """
    found = AuditLog(settings().folder.audit).read()
    acts = [
        act
        for act in reversed(found.acts)
        if (since is None or act.at >= since) and who in {"", act.who} and what in act.what
    ][:limit]

    def print_acts() -> None:
        if acts:
            terminal_for_data().print(_table(acts))
        else:
            out_lines.print("No such act is on record.")

    emit(output, {"acts": [act.as_dict() for act in acts], "notes": list(found.notes)}, print_acts)
    for note in found.notes:
        err_lines.print(note, style="yellow")


def _table(acts: list[Act]) -> Table:
    table = Table(
        "began (UTC)", "who", Column("what", overflow="fold"), "outcome", Column("detail", overflow="fold"), box=None
    )
    for act in acts:
        given = " ".join(f"{name}={value}" for name, value in act.arguments.items())
        through = "" if act.through == "command line" else f" [{act.through}]"
        outcome, style = act.outcome.value, _STYLES.get(act.outcome, "")
        table.add_row(
            f"{act.at:%Y-%m-%d %H:%M:%S}",
            escape(act.who),
            escape(f"{act.what} {given}".strip() + through),
            f"[{style}]{outcome}[/]" if style else outcome,
            escape(act.detail),
        )
    return table
