"""What a change of code means for a unit, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from sluice.cli.terminal.output import counted, out_lines
from sluice.specs.code.parts import CodeChanges
from sluice.streams.upgrade import PipelineUpgrade, StaleIntervals, UnitUpgrade

_HASH = 12


def upgrade_as_dict(upgrade: UnitUpgrade) -> dict[str, Any]:
    """Return it as JSON values."""
    pipelines = {
        each.pipeline: {**asdict(each), "before": each.before, "changed": each.changed} for each in upgrade.pipelines
    }
    return {
        "unit": upgrade.unit,
        "generation": upgrade.generation,
        "in_force": upgrade.in_force,
        "pipelines": pipelines,
        "recompute": list(upgrade.recompute_commands()),
    }


def print_upgrade(upgrade: UnitUpgrade) -> None:
    """Print it for people."""
    out_lines.print(_headline(upgrade))
    for pipeline in upgrade.pipelines:
        out_lines.print(f"{pipeline.pipeline}: {_code(pipeline)}", style="yellow" if pipeline.changed else None)
        for line in _lines(pipeline):
            out_lines.print(f"  {line}")
    for line in _next(upgrade):
        out_lines.print(line)


def _headline(upgrade: UnitUpgrade) -> str:
    unit, generation = upgrade.unit, upgrade.generation
    if generation is None:
        return f"{unit} has no driver that lives; the next one takes the code on disk."
    if upgrade.in_force:
        return f"{unit}: generation {generation} runs the code on disk."
    if upgrade.outdated:
        return f"{unit}: generation {generation} keeps the code that it was started with until it is restarted."
    return f"{unit}: generation {generation} has not said which code it runs."


def _code(pipeline: PipelineUpgrade) -> str:
    disk, before = pipeline.disk[:_HASH], (pipeline.before or "")[:_HASH]
    match pipeline.changed:
        case None:
            return f"the code on disk is {disk}; no driver runs and no interval was written that it could differ from."
        case False:
            return f"the code on disk, {disk}, is the one that {_who(pipeline)}."
        case True:
            return f"the code on disk is {disk}; {before} {_who(pipeline)}."


def _who(pipeline: PipelineUpgrade) -> str:
    return "wrote the newest interval" if pipeline.running is None else "runs"


def _lines(pipeline: PipelineUpgrade) -> Iterator[str]:
    if pipeline.changed:
        yield from _changes(pipeline)
        for output in pipeline.outputs:
            yield f"output    {output.output} (stream {output.stream}): {output.effect}."
    if pipeline.intervals is not None:
        yield f"intervals {_stale(pipeline.intervals)}"
        yield f"tried     {_tried(pipeline)}"


def _changes(pipeline: PipelineUpgrade) -> Iterator[str]:
    changes = pipeline.changes
    if changes is None:
        yield (
            f"changed   not known: no driver and no backfill has kept the parts of {(pipeline.before or '')[:_HASH]} "
            "here; see your version control"
        )
        return
    yield from _parts(changes)


def _parts(changes: CodeChanges) -> Iterator[str]:
    for module in changes.modules:
        yield f"module    {module}"
    for key in changes.keys:
        yield f"spec      {key.key}: {_value(key.old)}, now {_value(key.new)}"
    for name in changes.static:
        yield f"static    {name}"


def _value(value: object) -> str:
    return "absent" if value is None else str(value)


def _stale(intervals: StaleIntervals) -> str:
    if not intervals.closed:
        return "none is closed yet."
    closed = counted(intervals.closed, "closed interval")
    if intervals.range is None:
        return f"none of {closed} is stale by the code on disk."
    bounds = f"{intervals.range.start:%FT%RZ} to {intervals.range.end:%FT%RZ}"
    return f"{intervals.stale:,} of {closed} are stale by the code on disk, {bounds}; readers see them as they are."


def _tried(pipeline: PipelineUpgrade) -> str:
    if (trial := pipeline.trial) is None:
        return "not yet."
    compared = counted(trial.compared, "interval")
    return f"{trial.at:%F %R} UTC, over {compared}: {trial.outcome} ({trial.backfill})."


def _next(upgrade: UnitUpgrade) -> Iterator[str]:
    command = f"sluice streams upgrade {upgrade.unit}"
    if upgrade.outdated:
        yield f"Next: {command} --try, then {command} --promote --why '…'"
        return
    if commands := upgrade.recompute_commands():
        yield "To compute what is stale by the code on disk (nothing is recomputed without a request):"
        yield from (f"  {each}" for each in commands)
