"""`sluice control`: looks after the control database."""

from __future__ import annotations

import typer

from sluice.cli.terminal.output import Output, OutputOption, out, print_data
from sluice.control.database import compact
from sluice.project.project import Project
from sluice.settings import settings

app = typer.Typer(help="Look after the control database.", no_args_is_help=True)


@app.command()
def rebuild(output: OutputOption = Output.TABLE) -> None:
    """Drop the index of the interval ledger and rebuild it from the logs of the tables.

    Exit codes: 0 it is rebuilt; 2 a spec is wrong; 4 the control database could not be asked; 6 a log cannot be read
    whole, and nothing was dropped.
    """
    # Every spec must stand: what no spec names is dropped and does not come back.
    done = Project.open_strict(settings()).tables.index().rebuild()
    if output.for_programs:
        print_data(
            output,
            {
                found.pipeline: {
                    "entries": found.entries,
                    "intervals": len(found.ledger.rows),
                    "closed_until": found.ledger.closed_until and found.ledger.closed_until.isoformat(),
                    "version": found.ledger.version,
                }
                for found in done
            },
        )
        return
    for found in done:
        out.print(
            f"{found.pipeline}: {len(found.ledger.rows):,} intervals from {found.entries:,} ledger entries, up to "
            f"table version {found.ledger.version}.",
            markup=False,
        )
    if not done:
        out.print("No spec names a pipeline: the index is empty.")


@app.command(name="compact")
def compact_(output: OutputOption = Output.TABLE) -> None:
    """Make the file of a SQLite control database as small as what is in it. It changes nothing else.

    Exit codes: 0 done, or there was nothing to gain; 4 the database was busy, or the disk has no room for a copy of it.
    """
    freed = compact(Project.open_tolerant(settings()).records.database)
    if output.for_programs:
        print_data(output, {"freed_bytes": freed})
    else:
        out.print(f"The control database: {freed:,} bytes given back.", markup=False)
