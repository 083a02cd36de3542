"""What the specs say about how a stream reads its topic."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.lanes import LANES, Lane

DEFAULT_TRIGGER = LANES[Lane.BALANCED].trigger
_OF_HURRIED = {Lane.LATENCY: timedelta(seconds=1), Lane.REALTIME: DEFAULT_TRIGGER}


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
        return Rhythm(pipeline.trigger, pipeline.max_records_per_batch, retention)
    topic = topics[0] if topics else None
    cap = None if topic is None else topic.raw.max_records_per_batch
    return Rhythm(raw_trigger(catalog, "" if topic is None else topic.name), cap, retention)


def raw_trigger(catalog: Catalog, topic: str) -> timedelta:
    """Return the least time between two batches of a topic's raw stream.

    It keeps up with the fastest reader. Live outputs do not wait for it, so those that are in a hurry need no more
    commits than once a second.
    """
    readers = catalog.readers.get(topic, ())
    return min((_OF_HURRIED.get(reader.lane, reader.trigger) for reader in readers), default=DEFAULT_TRIGGER)
