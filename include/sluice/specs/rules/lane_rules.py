"""Rules about lanes: what Real-Time Mode can run, as far as specs say it. A transform is judged at a start."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.contracts.breach import Loc
from sluice.specs.model.lanes import LANES, Lane
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import TopicOutput
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading
from sluice.specs.rules.output_rules import outputs_of

_LEAST_BATCH = 5.0
"""Seconds. Spark refuses shorter batches in Real-Time Mode."""
_OTHER_LANE = "take `lane: latency`."


def realtime_pipelines_can_run(reading: Reading) -> Iterator[Finding]:
    """A pipeline in real time delivers records of one topic to one topic, and has a driver of its own."""
    for name, pipeline in reading.catalog.pipelines.items():
        if pipeline.lane is Lane.REALTIME:
            for place, message, fix in _unfit(pipeline):
                yield reading.finding(Kind.PIPELINE, name, place, message, fix)
            yield from _sharing(reading, pipeline)


def _unfit(pipeline: PipelineSpec) -> Iterator[tuple[Loc, str, str]]:
    outputs = list(outputs_of(pipeline))
    for place, output in outputs:
        if not isinstance(output, TopicOutput):
            yield place, f"in real time an output of the kind {output.kind} cannot be written.", _OTHER_LANE
        elif output.delivery == "at_most_once":
            yield place, "in real time nothing is put on record before a record is sent.", "remove `delivery`."
    if len(outputs) > 1:
        yield outputs[1][0], "in real time a pipeline has one output.", "make a pipeline for each."
    if len(pipeline.topics) != 1 or pipeline.tables:
        yield ("sources",), "in real time a pipeline reads one topic, and no table.", _OTHER_LANE
    if pipeline.circuit_breaker is not None:
        yield ("circuit_breaker",), "in real time nothing is held back until a batch is judged.", "remove it."
    if pipeline.max_records_per_batch is not None:
        yield ("max_records_per_batch",), "in real time a batch has an end in time alone.", "remove it."
    if pipeline.trigger.total_seconds() < _LEAST_BATCH:
        usual = f"{LANES[Lane.REALTIME].trigger.total_seconds():.0f} s"
        yield ("trigger",), "in real time this is how long a batch lasts: 5 s at least.", f"remove it for {usual}."


def _sharing(reading: Reading, pipeline: PipelineSpec) -> Iterator[Finding]:
    """A batch holds a core for each partition as long as it lasts: what shares its driver would never run."""
    catalog, name = reading.catalog, pipeline.name
    unit = catalog.units().get(pipeline.driver)
    if unit is not None and (others := [*unit.topics, *(each for each in unit.pipelines if each != name)]):
        message = f"in real time a batch holds the cores of its driver, which {', '.join(sorted(others))} shares."
        yield reading.finding(Kind.PIPELINE, name, ("driver",), message, "name a driver of its own.")
    if pipeline.resources.grows:
        message = "in real time a batch holds its cores as long as it lasts: none come and go with a backlog."
        yield reading.finding(Kind.PIPELINE, name, ("resources", "cores"), message, "write one number.")
    for topic in pipeline.topics:
        needed = catalog.topics[topic].partitions if topic in catalog.topics else 0
        if pipeline.resources.most_cores < needed:
            message = f"in real time each of the {needed} partitions of {topic} holds a core, and there are "
            fix = f"set resources.cores to {needed}: threads, of which the machine may have fewer."
            place = ("resources", "cores")
            yield reading.finding(Kind.PIPELINE, name, place, f"{message}{pipeline.resources.most_cores}.", fix)
