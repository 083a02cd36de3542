"""`sluice streams heal`: reopen intervals that records from the future closed, after a confirmation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sluice.cli.streams.reset import show_resets
from sluice.cli.terminal.arguments import UnitArgument, WhyOption, YesOption
from sluice.cli.terminal.output import Output, OutputOption, emit, out_lines
from sluice.cli.terminal.user import confirm, requester
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
    unit: UnitArgument,
    why: WhyOption,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Undo the effects of records from the future on a stopped unit. Shows the changes and asks for a confirmation.

    Intervals in the future that were closed without rows become open, and the streams whose watermark lies there begin
    a new epoch at the first available record. Streams write no interval with rows again; intervals that lack records
    become dirty, and backfills repair them. Then the control database is compacted.

    Exit codes: 0 it is healed, or was healthy; 2 an argument is wrong, or there is no terminal for the confirmation; 4
    the broker, the launcher or the control database did not answer; 5 refused, nothing was changed; 6 a log or a
    checkpoint cannot be read.
    """
    project = Project.open_tolerant(settings())
    declared = project.catalog.unit(unit)
    refuse_living(project.streams.life(unit).record_end())
    clock, freed = SystemClock(), 0
    with project.kafka.administration(Role.WATCHER) as cluster:
        resetting = Resetting(declared, project.catalog, project.streams.epochs, cluster, clock)
        healing = diagnose(project, declared, resetting, clock.now())
        if not output.for_programs:
            _show(project, declared, healing)
        if healing.needed:
            confirm(unit, yes=yes)
            refuse_living(project.streams.life(unit).record_end())  # the user may have read for an hour
            heal(project, healing, resetting, by=requester(), why=why)
            for name in healing.tables:
                project.tables.index().refresh(name)
            freed = compact(project.records.database)
    emit(output, _as_json(unit, healing, freed), lambda: _print_next(unit, healing, freed) if healing.needed else None)


def _show(project: Project, unit: Unit, healing: Healing) -> None:
    for name, poisoned in healing.tables.items():
        table = project.catalog.pipelines[name].intervals.table
        for line in _lines(table, poisoned):
            out_lines.print(line)
    for stream, watermark in healing.watermarks.items():
        out_lines.print(f"{stream}: its watermark is {watermark:%F %R} UTC")
    for values in healing.open_values:
        out_lines.print(f"{values.name} (latest): {values.rows} rows of later windows will be removed")
    show_resets(healing.resets)
    for stream in healing.left:
        out_lines.print(
            f"{stream}: not reset, because it would deliver its output a second time; if it aggregates, "
            f"reset it to a position of your choice: sluice streams reset {unit.name} --stream {stream} --to …",
        )
    if not (healing.needed or healing.left):
        sources = [source for p in unit.pipelines for source in project.catalog.pipelines[p].topic_sources.values()]
        skews = {format_duration(source.time.clock_skew) for source in sources}
        out_lines.print(
            f"{unit.name}: no interval is closed further ahead of the clock than its specs allow "
            f"(future_skew, and clock_skew {', '.join(sorted(skews)) or 'of no pipeline'}).",
        )


def _lines(table: str, poisoned: Poisoned) -> Iterator[str]:
    first = f"version {poisoned.version} of {poisoned.at:%F %R} UTC"
    yield f"{table} (intervals): since {first} its intervals are closed until {poisoned.until:%F %R} UTC"
    yield f"  {poisoned.opened:,} intervals without rows, from {poisoned.since:%F %R} UTC on, become open"
    for row in poisoned.beyond:
        yield f"  {row.interval.start:%F %R} UTC holds rows: it becomes dirty, and a repair applies today's rules"


def _print_next(unit: str, healing: Healing, freed: int) -> None:
    out_lines.print(f"Done; the control database is {freed:,} bytes smaller. Next:")
    out_lines.print(f"  sluice streams start {unit}")
    for name in healing.tables:
        command = f"sluice intervals list {name} --state dirty"
        out_lines.print(f"  {command}    shows what the DAG repair_intervals will repair")
    for stream in healing.left:
        out_lines.print(f"  {stream} was not reset, see above")


def _as_json(unit: str, healing: Healing, freed: int) -> dict[str, Any]:
    return {
        "unit": unit,
        "tables": {
            name: {
                "version": poisoned.version,
                "until": poisoned.until.isoformat(),
                "since": poisoned.since.isoformat(),
                "opened": poisoned.opened,
                "beyond": [row.interval.start.isoformat() for row in poisoned.beyond],
            }
            for name, poisoned in healing.tables.items()
        },
        "watermarks": {stream: watermark.isoformat() for stream, watermark in healing.watermarks.items()},
        "streams": {one.stream: {"epoch": one.epoch, "repeated": one.repeated} for one in healing.resets},
        "open_values": [values.name for values in healing.open_values],
        "left": list(healing.left),
        "freed_bytes": freed,
    }
