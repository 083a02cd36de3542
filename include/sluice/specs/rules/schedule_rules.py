"""Rules about drivers that do not run all the time: what shares one agrees, and nothing is lost or late by plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from sluice.contracts.breach import Loc
from sluice.specs.model.deadlines import StreamDeadlines
from sluice.specs.model.duration import format_duration
from sluice.specs.model.lanes import Lane
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import LatestOutput
from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading, SpecMisfit
from sluice.specs.rules.output_rules import outputs_of

_KEEPS = 2
"""Of a topic's retention at most a half is a pause: a run may fail, and the next one has to find the records."""


def raw_streams_run_with_their_driver(reading: Reading) -> Iterator[Finding]:
    """A driver has one plan: a raw stream says the same as what shares its driver, or nothing."""
    catalog = reading.catalog
    with_pipelines = {pipeline.driver for pipeline in catalog.pipelines.values()}
    for name, topic in sorted(catalog.topics.items()):
        raw, plan = topic.raw, catalog.run_plan(topic.raw.driver)
        own = RunPlan(raw.schedule, raw.stop_when_idle)
        if own == plan or (own == ALL_THE_TIME and raw.driver in with_pipelines):
            continue
        key = "schedule" if raw.schedule != plan.schedule else "stop_when_idle"
        message = f"{key} differs from what else names the driver {raw.driver} says: they share a process."
        fix = "remove it, so that the pipelines of the driver say it." if raw.driver in with_pipelines else _EQUAL
        yield reading.finding(Kind.TOPIC, name, ("raw", key), message, fix)


_EQUAL = "make them equal, or name another driver."


def plans_can_be_kept(reading: Reading) -> Iterator[Finding]:
    """What a pipeline or a raw table promises or keeps fits the times at which its driver runs."""
    for name, pipeline in reading.catalog.pipelines.items():
        if pipeline.run_plan != ALL_THE_TIME:
            misfits = [*_unfit(pipeline), *_late(pipeline.run_plan, ("deadlines",), pipeline.deadlines)]
            for place, message, fix in misfits:
                yield reading.finding(Kind.PIPELINE, name, place, message, fix)
            for message, fix in _kept_too_short(reading, pipeline.run_plan, pipeline.topics):
                yield reading.finding(Kind.PIPELINE, name, ("schedule",), message, fix)
    for name, topic in reading.catalog.topics.items():
        plan = reading.catalog.run_plan(topic.raw.driver)
        for place, message, fix in _late(plan, ("raw", "deadlines"), topic.raw.deadlines):
            yield reading.finding(Kind.TOPIC, name, place, message, fix)
        for message, fix in _kept_too_short(reading, plan, (name,)):
            yield reading.finding(Kind.TOPIC, name, ("raw", "driver"), message, fix)


def raw_tables_are_filled_meanwhile(reading: Reading) -> Iterator[Finding]:
    """An interval table is settled from raw tables: one that another driver fills by a schedule stands still."""
    catalog = reading.catalog
    for name, pipeline in catalog.interval_pipelines.items():
        for topic in (catalog.topics[each] for each in pipeline.topics if each in catalog.topics):
            driver = topic.raw.driver
            if driver != pipeline.driver and catalog.run_plan(driver).schedule is not None:
                message = (
                    f"it is settled from the raw table of {topic.name}, which the driver {driver} fills by a schedule: "
                    "in between, nothing could be settled, and a driver would wait for it."
                )
                fix = f"name the driver {driver} here, or give the raw table a driver without a schedule."
                yield reading.finding(Kind.PIPELINE, name, ("driver",), message, fix)


def _unfit(pipeline: PipelineSpec) -> Iterator[SpecMisfit]:
    plan = pipeline.run_plan
    if pipeline.lane is Lane.REALTIME:
        key = "schedule" if plan.schedule is not None else "stop_when_idle"
        message = f"in the lane realtime each record is handed on when it comes, and `{key}` lets records wait."
        yield (key,), message, f"remove `{key}`, or take another lane."
    if plan.bounded and "trigger" in pipeline.model_fields_set:
        message = "a driver that reads what is there and ends has no time between batches."
        yield ("trigger",), message, "remove it, or say with `stop_when_idle` how long the driver goes on."
    for place, output in outputs_of(pipeline):
        if plan.schedule is not None and isinstance(output, LatestOutput) and output.keep == "open":
            message = "rows of open intervals show what is now; by a schedule they would show what was at its last run."
            yield (*place, "keep"), message, "write `keep: all`, or remove the `schedule`."


def _late(plan: RunPlan, place: Loc, deadlines: StreamDeadlines) -> Iterator[SpecMisfit]:
    """Yield the deadlines that are missed before each run."""
    if (pause := plan.pause) is None:
        return
    for key, limit in (("lag", deadlines.lag), ("age", deadlines.age)):
        if limit is not None and limit <= pause:
            message = f"by its schedule records wait for up to {format_duration(pause)}, so this is missed as planned."
            yield (*place, key), message, "write more than that, or start the driver more often."


def _kept_too_short(reading: Reading, plan: RunPlan, topics: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield of which topics retention deletes what is unread if one run fails, and what to do."""
    if (pause := plan.pause) is None:
        return
    for topic in (reading.catalog.topics[each] for each in topics if each in reading.catalog.topics):
        kept = topic.retention
        if isinstance(kept, timedelta) and kept < _KEEPS * pause:
            message = (
                f"the topic {topic.name} keeps records for {format_duration(kept)}, and the driver pauses for up to "
                f"{format_duration(pause)}: if one run fails, records are deleted that were never read."
            )
            fix = f"keep them for {format_duration(_KEEPS * pause)} at least, or start the driver more often."
            yield message, fix
