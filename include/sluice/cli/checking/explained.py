"""`sluice check --explain`: every setting with which a pipeline runs, and where it comes from."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import asdict, dataclass

from rich.table import Table

from sluice.cli.terminal.output import out, terminal_for_data
from sluice.delta.latest import NEWEST_VALUES
from sluice.delta.table import PLAIN_TABLE
from sluice.kafka.client.stream_options import (
    KAFKA_DIRECT_SINK,
    KAFKA_READ,
    KAFKA_REALTIME_SOURCE,
    KAFKA_SINK,
    KAFKA_SMALL_BATCHES,
    KAFKA_SOURCE,
)
from sluice.project.project import Project
from sluice.spark.session.preset import SMALL_BATCHES, Layer, Origin, batch_layers, unit_layers
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.rhythm import table_trigger
from sluice.specs.model.duration import format_duration
from sluice.specs.model.lanes import LANES, Lane
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import LatestOutput, TopicOutput
from sluice.specs.rules.output_rules import direct_output


@dataclass(frozen=True)
class Explained:
    """One setting in force.

    Attributes:
        of: what it is a setting of.
        name: as Spark, Kafka or Delta call it.
        value: in force.
        origin: where it comes from.
        instead: the values that it won over, with their origins, the newest last.
    """

    of: str
    name: str
    value: str
    origin: Origin
    instead: tuple[str, ...] = ()


def explained(project: Project, pipeline: PipelineSpec) -> list[Explained]:
    """Return every setting with which the streams and batches of a pipeline run.

    Raises:
        NotReadyError: the jars are missing.
    """
    unit = project.catalog.units()[pipeline.driver]
    shared = [name for name in unit.pipelines if name != pipeline.name]
    of_driver = f"the driver {unit.name}" + (f", with {', '.join(shared)}" if shared else "")
    streams = list(_of(of_driver, unit_layers(project, unit)))
    same = {(each.name, each.value) for each in streams}
    batches = _of("its backfills", batch_layers(project, pipeline.name))
    raw = _of_raw_streams(project.catalog, pipeline)
    declared = {each.name for each in streams}
    return [
        *_of_streams(pipeline, declared),
        *raw,
        *streams,
        *(each for each in batches if (each.name, each.value) not in same),
    ]


def _of_streams(pipeline: PipelineSpec, declared: Container[str]) -> Iterator[Explained]:
    """Yield what its streams and tables have beside the settings of the driver, whose names are given."""
    preset = LANES[pipeline.lane].trigger
    other_trigger = pipeline.trigger != preset
    lane = f"{format_duration(preset)} ({Origin.LANE})"
    trigger = format_duration(pipeline.trigger)
    origin = Origin.PIPELINE if other_trigger else Origin.LANE
    of_tables = format_duration(table_trigger(pipeline))
    yield Explained("its streams", "trigger", trigger, origin, (lane,) if other_trigger else ())
    if of_tables != trigger:
        yield Explained("its raw and interval tables", "trigger", of_tables, Origin.LANE, (f"{trigger} ({origin})",))
    in_real_time = pipeline.lane is Lane.REALTIME
    yield from _preset("its streams", {**(KAFKA_REALTIME_SOURCE if in_real_time else KAFKA_SOURCE), **KAFKA_READ})
    if pipeline.max_records_per_batch is not None:
        yield Explained("its streams", "maxOffsetsPerTrigger", str(pipeline.max_records_per_batch), Origin.PIPELINE)
    for output in pipeline.every_output:
        match output:
            case TopicOutput():
                yield from _of_topic(pipeline, output, declared)
            case LatestOutput(store="delta"):
                yield from _preset(f"the table {output.table}", {**PLAIN_TABLE, **NEWEST_VALUES})
    if pipeline.has_intervals:
        yield from _preset(f"the table {pipeline.intervals.table}", PLAIN_TABLE)


def _of_topic(pipeline: PipelineSpec, output: TopicOutput, declared: Container[str]) -> Iterator[Explained]:
    to, direct = f"the topic {output.topic}", output is direct_output(pipeline)
    yield from _preset(to, KAFKA_DIRECT_SINK if direct else KAFKA_SINK)
    if direct and pipeline.lane is Lane.LATENCY and pipeline.schedule is None:
        for name, value in {**KAFKA_SMALL_BATCHES, **SMALL_BATCHES}.items():
            if name not in declared:
                yield Explained(f"the stream into {to}", name, value, Origin.LANE)


def _of_raw_streams(catalog: Catalog, pipeline: PipelineSpec) -> Iterator[Explained]:
    for topic in filter(None, map(catalog.topics.get, pipeline.topics)):
        options = {"maxOffsetsPerTrigger": topic.raw.max_records_per_batch, "minPartitions": topic.raw.min_partitions}
        for name, value in options.items():
            if value is not None:
                yield Explained(f"the raw stream of {topic.name}", name, str(value), Origin.TOPIC)


def _preset(of: str, settings: Mapping[str, str]) -> Iterator[Explained]:
    for name, value in settings.items():
        yield Explained(of, name, value, Origin.PRESET)


def _of(what: str, layers: list[Layer]) -> Iterator[Explained]:
    values: dict[str, list[tuple[Origin, str]]] = {}
    for origin, settings in layers:
        for name, value in settings.items():
            values.setdefault(name, []).append((origin, value))
    for name, found in values.items():
        *before, (origin, value) = found
        yield Explained(what, name, value, origin, tuple(f"{old} ({whose})" for whose, old in before))


def as_values(pipeline: PipelineSpec, found: list[Explained]) -> dict[str, object]:
    """Return it as JSON values: the lane with what it means and why, and all settings."""
    lane = {"name": pipeline.lane.value, "meaning": pipeline.lane.meaning, "why": LANES[pipeline.lane].why}
    return {"pipeline": pipeline.name, "lane": lane, "settings": [asdict(each) for each in found]}


def show(pipeline: PipelineSpec, found: list[Explained]) -> None:
    """Print it for people."""
    out.print(f"{pipeline.name} is in the lane {pipeline.lane}: {pipeline.lane.meaning}.")
    table = Table("of", "setting", "value", "from", "instead of")
    for each in found:
        table.add_row(each.of, each.name, each.value, each.origin, ", ".join(each.instead))
    terminal_for_data().print(table)
