"""`sluice control`: maintain the control database."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.control.database import compact
from sluice.control.index import Refreshed
from sluice.project.project import Project
from sluice.settings import settings

app = typer.Typer(help="Maintain the control database.", no_args_is_help=True)


@app.command()
def rebuild(output: OutputOption = Output.TABLE) -> None:
    """Drop the index of the interval ledger and rebuild it from the logs of the tables.

    Exit codes: 0; 2 a spec is wrong; 4 the control database did not answer; 6 a log cannot be read in full, and nothing
    was dropped.
    """
    # All specs must be valid: the index of a pipeline without a valid spec is dropped and not rebuilt.
    done = Project.open_strict(settings()).tables.index().rebuild()
    data = {
        each.pipeline: {
            "entries": each.entries,
            "intervals": len(each.ledger.rows),
            "closed_until": each.ledger.closed_until and each.ledger.closed_until.isoformat(),
            "version": each.ledger.version,
        }
        for each in done
    }
    emit(output, data, lambda: _print_rebuilt(done))


def _print_rebuilt(done: Sequence[Refreshed]) -> None:
    for each in done:
        out_lines.print(
            f"{each.pipeline}: {len(each.ledger.rows):,} intervals from {each.entries:,} ledger entries, up to "
            f"table version {each.ledger.version}.",
        )
    if not done:
        out.print("There is no pipeline: the index is empty.")


@app.command(name="compact")
def compact_(output: OutputOption = Output.TABLE) -> None:
    """Shrink the file of a SQLite control database to its content. Changes nothing else.

    Exit codes: 0 it is compact; 4 the database was busy, or the disk has no space for a copy of it.
    """
    freed = compact(Project.open_tolerant(settings()).records.database)
    emit(output, {"freed_bytes": freed}, lambda: out_lines.print(f"Freed {freed:,} bytes of the control database."))
