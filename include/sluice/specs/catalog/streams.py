"""The streams that specs declare: their names, what they read, and what they write. The only place that spells names.

A topic has a raw stream, `raw_<topic>`. A pipeline has a stream of its own name, and up to two more: `<pipeline>_live`
for the outputs beside an interval table, whose values have yet to close, and `<pipeline>_dead` for dead letters, which
runs no transform and goes on whatever happens to one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from sluice.specs.model.deadlines import StreamDeadlines
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.outputs import Output

_RAW, _LIVE, _DEAD = "raw_", "_live", "_dead"


class StreamKind(StrEnum):
    """What a stream is for."""

    RAW = "raw"  # it fills the raw table of its topic
    PIPELINE = "pipeline"  # it fills the interval table, or without one the side outputs
    LIVE = "live"  # it fills the side outputs of a pipeline with an interval table
    DEAD = "dead"  # it sends dead letters


@dataclass(frozen=True)
class DeclaredStream:
    """A stream as the specs declare it.

    Attributes:
        name: unique in a project.
        kind: what it is for.
        topics: the topics that it reads; one of a raw stream, none where it reads tables alone.
        owner: of its pipeline, or of the topic of a raw stream; empty if none is named.
        deadlines: what it promises while it runs.
        outputs: what it delivers; none of a raw stream.
        pipeline: that it belongs to; None of a raw stream.
        tables: the settled tables that it reads, as `table_input` calls them.
    """

    name: str
    kind: StreamKind
    topics: tuple[str, ...]
    owner: str
    deadlines: StreamDeadlines
    outputs: tuple[Output, ...] = ()
    pipeline: PipelineSpec | None = None
    tables: tuple[str, ...] = ()

    @property
    def mirror_group(self) -> str | None:
        """The consumer group that shows its position; None: it is not mirrored."""
        if self.pipeline is None or self.pipeline.mirror_group is None:
            return None
        return self.pipeline.mirror_group + self.name.removeprefix(self.pipeline.name)


def raw_stream(topic: str) -> str:
    """Return the name of a topic's raw stream."""
    return f"{_RAW}{topic}"


def topic_of_raw(stream: str) -> str:
    """Return the topic of a raw stream; another name stays as it is."""
    return stream.removeprefix(_RAW)


def settled_stream(pipeline: PipelineSpec) -> str | None:
    """Return the name of the stream that fills the interval table; None if there is none."""
    return pipeline.name if pipeline.has_intervals else None


def live_stream(pipeline: PipelineSpec) -> str | None:
    """Return the name of the stream of the outputs beside an interval table; None if there is none."""
    return f"{pipeline.name}{_LIVE}" if pipeline.has_intervals and pipeline.side_outputs else None


def dead_stream(pipeline: PipelineSpec) -> str | None:
    """Return the name of the stream that sends dead letters; None if there is none."""
    return f"{pipeline.name}{_DEAD}" if pipeline.dead_letters is not None else None


def raw_stream_of(topic: TopicSpec) -> DeclaredStream:
    """Return the raw stream of a topic."""
    return DeclaredStream(raw_stream(topic.name), StreamKind.RAW, (topic.name,), topic.owner or "", topic.raw.deadlines)


def streams_of(pipeline: PipelineSpec) -> Iterator[DeclaredStream]:
    """Yield the streams of a pipeline, the one of its own name first."""
    own = (pipeline.intervals,) if pipeline.has_intervals else pipeline.side_outputs
    dead_letters = () if pipeline.dead_letters is None else (pipeline.dead_letters,)
    for name, kind, outputs in (
        (pipeline.name, StreamKind.PIPELINE, own),
        (live_stream(pipeline), StreamKind.LIVE, pipeline.side_outputs),
        (dead_stream(pipeline), StreamKind.DEAD, dead_letters),
    ):
        if name is not None:
            yield DeclaredStream(
                name,
                kind,
                pipeline.topics,
                pipeline.owner,
                pipeline.deadlines,
                tuple(outputs),
                pipeline,
                pipeline.tables,
            )
