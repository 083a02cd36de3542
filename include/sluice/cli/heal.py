"""`sluice streams heal`: takes back what records from the future have closed, shown and confirmed first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from sluice.cli.reset import show_resets
from sluice.cli.terminal import completion
from sluice.cli.terminal.confirmation import confirm
from sluice.cli.terminal.output import Output, OutputOption, out, print_data
from sluice.cli.terminal.requester import asker
from sluice.clock import SystemClock
from sluice.control.database import compact
from sluice.intervals.healing import Poisoned
from sluice.project.healing import Healing, diagnose, heal
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.catalog import Unit
from sluice.specs.model.access import Role
from sluice.specs.model.duration import format_duration
from sluice.streams.life.resetting import Resetting, refuse_living


def heal_(
    unit: Annotated[str, typer.Argument(help="The driver's name in the specs.", autocompletion=completion.units)],
    why: Annotated[str, typer.Option("--why", help="The reason, for the record.")],
    yes: Annotated[bool, typer.Option("--yes", help="Confirm without being asked.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take back what records from the future have done to a stopped unit: shows what that changes, and asks.

    Intervals that were closed into the future without rows are open again, and the streams whose watermark lies there
    begin a new epoch with the first record that there is. Nothing that holds rows is written again by a stream; what
    lacks records is dirty and repaired by backfills. Then the control database is compacted.

    Exit codes: 0 it is done, or nothing was to do; 2 an argument is wrong, or nobody can be asked for a confirmation; 4
    the broker, the launcher or the control database could not be asked; 5 refused, nothing was changed; 6 a log or a
    checkpoint cannot be read.
    """
    project = Project.open_tolerant(settings())
    declared = project.catalog.unit(unit)
    refuse_living(project.streams.life(unit).record_end())
    clock, freed = SystemClock(), 0
    with project.kafka.administration(Role.WATCHER) as cluster:
        resetting = Resetting(declared, project.catalog, project.streams.epochs, cluster, clock)
        found = diagnose(project, declared, resetting, clock.now())
        if output is Output.TABLE:
            _show(project, declared, found)
        if found.needed:
            confirm(unit, yes=yes)
            refuse_living(project.streams.life(unit).record_end())  # a person may have taken an hour to read
            heal(project, found, resetting, by=asker(), why=why)
            for name in found.tables:
                project.tables.index().refresh(name)
            freed = compact(project.records.database)
    if output.for_programs:
        print_data(output, _as_json(unit, found, freed))
    elif found.needed:
        out.print(f"Done; the control database is {freed:,} bytes smaller. What comes next:", markup=False)
        for line in _next(unit, found):
            out.print(f"  {line}", markup=False, soft_wrap=True)


def _show(project: Project, unit: Unit, found: Healing) -> None:
    for name, poisoned in found.tables.items():
        table = project.catalog.pipelines[name].intervals.table
        for line in _lines(table, poisoned):
            out.print(line, markup=False, soft_wrap=True)
    for stream, watermark in found.watermarks.items():
        out.print(f"{stream}: its watermark stands at {watermark:%F %R} UTC", markup=False, soft_wrap=True)
    for values in found.open_values:
        out.print(f"{values.name} (latest): {values.rows} rows of later windows are removed", markup=False)
    show_resets(found.resets)
    for stream in found.left:
        out.print(
            f"{stream}: what it delivers would be delivered a second time, so it stays; if it aggregates, "
            f"reset it to a position of your choice: sluice streams reset {unit.name} --stream {stream} --to …",
            markup=False,
            soft_wrap=True,
        )
    if not (found.needed or found.left):
        skews = {format_duration(project.catalog.pipelines[p].time.clock_skew) for p in unit.pipelines}
        out.print(
            f"{unit.name}: nothing is closed further ahead of the clock than its specs allow "
            f"(future_skew, and clock_skew {', '.join(sorted(skews)) or 'of no pipeline'}).",
            markup=False,
            soft_wrap=True,
        )


def _lines(table: str, poisoned: Poisoned) -> Iterator[str]:
    first = f"version {poisoned.version} of {poisoned.at:%F %R} UTC"
    yield f"{table} (intervals): since {first} a watermark of {poisoned.watermark:%F %R} UTC closes its intervals"
    yield f"  {poisoned.opened:,} intervals without rows, from {poisoned.since:%F %R} UTC on, are open again"
    for row in poisoned.beyond:
        yield f"  {row.interval.start:%F %R} UTC holds rows: it becomes dirty, and a repair asks today's rules"


def _next(unit: str, found: Healing) -> Iterator[str]:
    yield f"sluice streams start {unit}"
    for name in found.tables:
        yield f"sluice intervals list {name} --state dirty    what lacks records; the DAG repair_intervals mends it"
    for stream in found.left:
        yield f"{stream} was left as it is, see above"


def _as_json(unit: str, found: Healing, freed: int) -> dict[str, Any]:
    return {
        "unit": unit,
        "tables": {
            name: {
                "version": poisoned.version,
                "watermark": poisoned.watermark.isoformat(),
                "since": poisoned.since.isoformat(),
                "opened": poisoned.opened,
                "beyond": [row.interval.start.isoformat() for row in poisoned.beyond],
            }
            for name, poisoned in found.tables.items()
        },
        "watermarks": {stream: watermark.isoformat() for stream, watermark in found.watermarks.items()},
        "streams": {one.stream: {"epoch": one.epoch, "repeated": one.repeated} for one in found.resets},
        "open_values": [values.name for values in found.open_values],
        "left": list(found.left),
        "freed_bytes": freed,
    }
