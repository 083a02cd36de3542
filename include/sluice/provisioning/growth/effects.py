"""What a growth affects: the streams that read the topic, their state, the writers, and the load of units. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.catalog.needs import resources_of
from sluice.specs.catalog.streams import dead_stream, settled_stream
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import IntervalsOutput, LatestOutput, Output, TopicOutput
from sluice.wording import counted

MAX_CORES = 256
"""What a spec may declare."""


class Statefulness(StrEnum):
    """Whether a stream keeps state from batch to batch."""

    KEPT = "kept"
    NONE = "none"
    UNKNOWN = "unknown"  # its transform decides, and it was not observed


_REMEMBERS: Mapping[Statefulness, str] = {
    Statefulness.KEPT: (
        "keeps state, by its windows and keys and not by partition: it stays valid, in as many parts as before"
    ),
    Statefulness.NONE: "keeps no state",
    Statefulness.UNKNOWN: "may keep state, which its transform decides; it would stay valid",
}


@dataclass(frozen=True)
class AffectedStream:
    """A stream that reads the topic.

    Attributes:
        stream: its name.
        unit: the driver that runs it.
        state: whether it keeps state.
        minds: what records out of order do to it, a clause each; none: nothing.
    """

    stream: str
    unit: str
    state: Statefulness
    minds: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it as a clause."""
        return "; ".join([f"{self.stream} reads it and {_REMEMBERS[self.state]}", *self.minds])


@dataclass(frozen=True)
class AffectedUnit:
    """A unit whose streams read the topic. Kafka's partitions are a batch's tasks, and its cores run them in rounds.

    Attributes:
        unit: its name.
        cores: what its streams share, as the specs say.
        readers: how many of them read the topic, each in batches of its own.
        before: rounds in which a batch of one stream is run now.
        after: rounds in which it will be.
        cores_to_keep: the cores with which the number of rounds stays.
        declared_in: the pipeline whose `resources.cores` counts; empty if the unit has raw streams only, and thereby
            the default.
    """

    unit: str
    cores: int
    readers: int
    before: int
    after: int
    cores_to_keep: int
    declared_in: str

    def clause(self, partitions: int) -> str:
        """Return it as a clause."""
        shared = f", which {self.readers} streams share" if self.readers > 1 else ""
        load = f"{self.unit}: {partitions} partitions, {counted(self.cores, 'core')}{shared}: "
        rounds = f"a batch takes {counted(self.after, 'round')} of tasks"
        if self.after == self.before:
            return f"{load}{rounds}, as now"
        rounds += f" instead of {self.before}"
        if not self.declared_in or self.cores_to_keep > MAX_CORES:
            return load + rounds
        return f"{load}{rounds}; declare `resources.cores: {self.cores_to_keep}` in {self.declared_in} to keep the rate"


@dataclass(frozen=True)
class GrowthEffects:
    """All that a growth affects.

    Attributes:
        topic: that grows.
        before: how many partitions it has.
        after: how many it will have.
        streams: that read it, by name.
        units: of these streams, by name.
        feeds: that write it, by name.
        pipelines: of which an output writes it, by name.
    """

    topic: str
    before: int
    after: int
    streams: tuple[AffectedStream, ...] = ()
    units: tuple[AffectedUnit, ...] = ()
    feeds: tuple[str, ...] = ()
    pipelines: tuple[str, ...] = ()

    @property
    def writers(self) -> tuple[str, ...]:
        """The declared writers, in words. Others may write it too: no spec names them."""
        return (*(f"the feed {name}" for name in self.feeds), *(f"the pipeline {name}" for name in self.pipelines))

    def clauses(self) -> tuple[str, ...]:
        """Return it as clauses, for people."""
        writers = [f"{' and '.join(self.writers)} write{'s' if len(self.writers) == 1 else ''} it"]
        return (
            *(map(str, self.streams) if self.streams else ["no stream reads it"]),
            *(unit.clause(self.after) for unit in self.units),
            *(writers if self.writers else []),
        )


def growth_effects(
    catalog: Catalog,
    topic: str,
    before: int,
    after: int,
    *,
    keyed: bool = True,
    observed_state: Mapping[str, bool] | None = None,
) -> GrowthEffects:
    """Return what a growth affects.

    Args:
        catalog: the specs, as they are in the deployment.
        topic: that grows.
        before: how many partitions it has.
        after: how many it will have.
        keyed: whether records of one key have to stay in order.
        observed_state: whether a stream keeps state, by its checkpoint; used where the specs do not say.
    """
    streams = sorted(_streams(catalog, topic, observed_state or {}, keyed=keyed), key=lambda each: each.stream)
    readers = {unit: sum(each.unit == unit for each in streams) for unit in sorted({s.unit for s in streams})}
    units = catalog.units()
    pipelines = catalog.pipelines.items()
    return GrowthEffects(
        topic,
        before,
        after,
        tuple(streams),
        tuple(_unit(catalog, units[name], count, before, after) for name, count in readers.items()),
        feeds=tuple(sorted(name for name, feed in catalog.feeds.items() if feed.topic == topic)),
        pipelines=tuple(sorted(name for name, pipeline in pipelines if _writes(pipeline, topic))),
    )


def _streams(catalog: Catalog, topic: str, observed: Mapping[str, bool], *, keyed: bool) -> Iterator[AffectedStream]:
    for unit in catalog.units().values():
        for stream in unit.streams:
            if topic not in catalog.topics_of(stream):
                continue
            pipeline = catalog.pipeline_of(stream)
            if pipeline is None:
                yield AffectedStream(stream, unit.name, Statefulness.NONE)
                continue
            minds = tuple(_disorder(pipeline, catalog.streams[stream].outputs)) if keyed else ()
            yield AffectedStream(stream, unit.name, _state(pipeline, stream, observed.get(stream)), minds)


def _state(pipeline: PipelineSpec, stream: str, observed: bool | None) -> Statefulness:
    if stream in (settled_stream(pipeline), dead_stream(pipeline)):  # the first one runs batches over the raw table
        return Statefulness.NONE
    if pipeline.has_intervals and pipeline.intervals.window is not None:  # a windowed aggregation
        return Statefulness.KEPT
    if any(output.kind == "rows" for output in pipeline.side_outputs):  # a driver refuses a transform with state there
        return Statefulness.NONE
    return Statefulness.UNKNOWN if observed is None else Statefulness.KEPT if observed else Statefulness.NONE


def _disorder(pipeline: PipelineSpec, outputs: tuple[Output, ...]) -> Iterator[str]:
    """Yield what records of one key that are read out of order do to a stream."""
    for output in () if pipeline.has_intervals else outputs:  # windows are updated in any order
        if isinstance(output, TopicOutput):
            yield f"rows of one key may come into {output.topic} out of order, too"
        if isinstance(output, LatestOutput) and output.newest_by is None:
            yield f"in {output.table} the row of the later batch counts, which may be the older one without `newest_by`"
    settles = any(isinstance(output, IntervalsOutput) for output in outputs)
    if pipeline.max_records_per_batch is not None and not settles:
        yield (
            f"its batches are capped at {pipeline.max_records_per_batch:,} records: old partitions with a backlog may "
            "fall behind the watermark of the new ones, and live values lack what Spark drops then"
        )


def _unit(catalog: Catalog, unit: Unit, readers: int, before: int, after: int) -> AffectedUnit:
    cores = resources_of(catalog, unit).most_cores
    rounds = ceil(before / cores)
    declaring = [name for name in unit.pipelines if catalog.pipelines[name].resources.most_cores == cores]
    return AffectedUnit(
        unit.name,
        cores,
        readers,
        rounds,
        ceil(after / cores),
        max(cores, ceil(after / rounds)),
        declaring[0] if declaring else "",
    )


def _writes(pipeline: PipelineSpec, topic: str) -> bool:
    return any(output.topic == topic for output in pipeline.written_topics)
