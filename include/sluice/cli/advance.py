"""`sluice intervals advance`: decide about arrival times that hold a settled table back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from sluice.cli.terminal.arguments import PipelineArgument, WhyOption, YesOption
from sluice.cli.terminal.instants import METAVAR, start_of
from sluice.cli.terminal.output import Output, OutputOption, emit, out_lines
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.cli.terminal.user import confirm, requester
from sluice.errors import SpecError
from sluice.project.advances import Advance, advance_of, decide


def advance(
    pipeline: PipelineArgument,
    confirm_until: Annotated[
        datetime | None,
        typer.Option("--confirm", parser=start_of, metavar=METAVAR, help="Let arrival times up to this one count."),
    ] = None,
    refuse: Annotated[bool, typer.Option("--refuse", help="Let those that are held back never count.")] = False,
    why: WhyOption = "",
    *,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show which arrival times a settled table holds back, because no other evidence supports them, and decide.

    Without --confirm or --refuse it only shows them. A decision counts within seconds, or once a driver runs.

    Exit codes: 0; 2 an argument is wrong, or there is no terminal for the confirmation; 3 there is no table yet; 5
    refused, nothing was changed; 6 the log cannot be read.
    """
    if confirm_until is not None and refuse:
        raise SpecError("--confirm and --refuse exclude each other.", fix="use one of them.")
    if (confirm_until is not None or refuse) and not why:
        raise SpecError("a decision needs a reason.", fix="add --why.")
    project, _ = open_pipeline(pipeline)
    held = advance_of(project, pipeline)
    if not output.for_programs:
        _show(pipeline, held)
    if confirm_until is not None or refuse:
        confirm(pipeline, yes=yes)
        decide(project, pipeline, confirm_until, by=requester(), why=why)
    emit(output, _as_json(pipeline, held, confirm_until, refused=refuse), lambda: None)


def _show(pipeline: str, held: Advance) -> None:
    settled = "nothing is settled yet" if held.settled_until is None else f"settled until {held.settled_until:%F %R}"
    clock = "no arrival time is known" if held.clock is None else f"arrival times have come to {held.clock:%F %T}"
    out_lines.print(f"{pipeline}: {settled}; {clock} (UTC).")
    for partition, span in held.spans:
        last = "" if span.last == span.first else f" to {span.last:%F %T}"
        out_lines.print(f"  {partition} holds back {span.first:%F %T}{last} UTC: max_advance is exceeded")
    if not held.spans:
        out_lines.print("  No arrival time is held back.")
    if held.believed_until is not None:
        out_lines.print(f"  Confirmed until {held.believed_until:%F %T} UTC; the settler follows it within seconds.")


def _as_json(pipeline: str, held: Advance, until: datetime | None, *, refused: bool) -> dict[str, object]:
    return {
        "pipeline": pipeline,
        "settled_until": held.settled_until and held.settled_until.isoformat(),
        "clock": held.clock and held.clock.isoformat(),
        "held_back": [
            {"partition": partition, "first": span.first.isoformat(), "last": span.last.isoformat()}
            for partition, span in held.spans
        ],
        "confirmed_until": until and until.isoformat(),
        "refused": refused,
    }
