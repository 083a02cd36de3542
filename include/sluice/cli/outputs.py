"""`sluice outputs`: newest values, rebuilt from the interval table, and the roles of their database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import PipelineArgument, YesOption
from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.cli.terminal.user import confirm
from sluice.errors import SpecError
from sluice.live.rebuilding import Rebuild
from sluice.project.rebuilding import RebuildableOutput, rebuildable_outputs
from sluice.settings import PACKAGE

app = typer.Typer(
    help="Rebuild newest values from the interval table; print their database's roles.", no_args_is_help=True
)


@app.command()
def rebuild(
    pipeline: PipelineArgument,
    table: Annotated[
        str,
        typer.Option(help="Only the `latest` output with this table. Default: all.", autocompletion=completion.tables),
    ] = "",
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Let `latest` outputs hold the rows of settled intervals: late records and corrections, too.

    Shows what differs and asks for a confirmation. Rows of open intervals stay. The stream may run meanwhile.

    Exit codes: 0 they hold the same, or do now; 2 an argument is wrong, or there is no terminal for the confirmation;
    3 a table is not there, or nothing is settled; 4 the store did not answer; 5 refused, nothing was changed; 6 a
    table's log cannot be read.
    """
    project, spec = open_pipeline(pipeline)
    planned = [(each, each.plan()) for each in rebuildable_outputs(project, spec, table)]
    if not output.for_programs:
        for each, plan in planned:
            out_lines.print(_sentence(each, plan))
    changed = [(each, plan) for each, plan in planned if plan.needed]
    if changed:
        confirm(pipeline, yes=yes)
        for each, plan in changed:
            each.apply(plan)
    emit(output, _as_json(planned), lambda: out_lines.print("Done.") if changed else None)


_ROLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@app.command()
def roles(
    writer: Annotated[str, typer.Option(help="The role of streams.")] = "sluice_writer",
    reader: Annotated[str, typer.Option(help="The role of `sluice serve` and of other readers.")] = "sluice_reader",
) -> None:
    """Print what makes the roles of a PostgreSQL database for `latest` outputs, with the rights that each needs.

    Let psql run it in that database, as its superuser: sluice outputs roles | psql DATABASE. It sets no password.

    Exit codes: 0; 2 a name is not one that SQL takes as it is, or both are the same.
    """
    for name in (writer, reader):
        if not _ROLE.fullmatch(name):
            raise SpecError(
                f"{name!r} is no name of a role here.",
                fix="write lower-case letters, digits and underscores, 63 at most.",
            )
    if writer == reader:
        raise SpecError(f"both roles are named {writer!r}.", fix="name two.")
    names = f"\\set ON_ERROR_STOP on\n\\set writer {writer}\n\\set reader {reader}\n\n"
    out.write(names + (PACKAGE / "containers" / "serving_roles.sql").read_text(encoding="utf-8"))


def _sentence(each: RebuildableOutput, plan: Rebuild) -> str:
    settled = f"{each.output.table}: settled until {plan.before:%F %R} UTC"
    if not plan.needed:
        return f"{settled}; it holds what {each.pipeline.intervals.table} holds."
    return (
        f"{settled}; {plan.missing:,} rows will be added, {plan.different:,} replaced and {plan.extra:,} removed; "
        f"{plan.later:,} rows of open intervals stay."
    )


def _as_json(planned: Sequence[tuple[RebuildableOutput, Rebuild]]) -> list[dict[str, Any]]:
    return [
        {
            "table": each.output.table,
            "settled_until": plan.before.isoformat(),
            "added": plan.missing,
            "replaced": plan.different,
            "removed": plan.extra,
            "later": plan.later,
        }
        for each, plan in planned
    ]
