"""What the specs say about how a stream reads its topic."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.streams import settled_stream
from sluice.specs.model.lanes import HURRIED, LANES, Lane
from sluice.specs.model.model import PipelineSpec

DEFAULT_TRIGGER = LANES[Lane.BALANCED].trigger


@dataclass(frozen=True)
class Rhythm:
    """How a stream reads.

    Attributes:
        trigger: least time between two micro-batches.
        cap: most records per batch; None: a batch takes all there is.
        retention: how long the topic keeps a record; None: for ever, or it is not known.
    """

    trigger: timedelta = timedelta(0)
    cap: int | None = None
    retention: timedelta | None = None


UNDECLARED = Rhythm()


def rhythm_of(catalog: Catalog, stream: str) -> Rhythm:
    """Return how a stream reads. A raw stream keeps up with the fastest pipeline of its topic.

    Of several topics that a stream reads, the one counts that deletes its records first.
    """
    pipeline = catalog.pipeline_of(stream)
    topics = [catalog.topics[name] for name in catalog.topics_of(stream) if name in catalog.topics]
    retention = min((t.retention for t in topics if isinstance(t.retention, timedelta)), default=None)
    if pipeline is not None:
        trigger = table_trigger(pipeline) if stream == settled_stream(pipeline) else pipeline.trigger
        return Rhythm(trigger, pipeline.max_records_per_batch, retention)
    topic = topics[0] if topics else None
    cap = None if topic is None else topic.raw.max_records_per_batch
    return Rhythm(raw_trigger(catalog, "" if topic is None else topic.name), cap, retention)


def raw_trigger(catalog: Catalog, topic: str) -> timedelta:
    """Return the least time between two batches of a topic's raw stream.

    It keeps up with the fastest reader.
    """
    readers = catalog.readers.get(topic, ())
    return min((table_trigger(reader) for reader in readers), default=DEFAULT_TRIGGER)


def table_trigger(pipeline: PipelineSpec) -> timedelta:
    """Return the least time between two batches that fill a raw table or an interval table for a pipeline.

    Live outputs read the topic and do not wait for these tables. Where they are in a hurry, each commit and each round
    of settling takes from the processors what they need.
    """
    return DEFAULT_TRIGGER if pipeline.lane in HURRIED else pipeline.trigger
