"""A feed put together with the cluster that it is sent to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sluice.clock import Clock, SystemClock
from sluice.feeds.manifest import ManifestStore
from sluice.feeds.publish import Feed
from sluice.feeds.sources import load_source
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.producer import KafkaPythonProducer
from sluice.kafka.reader import KafkaPythonReader
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.model import PipelineSpec, TopicSpec


@contextmanager
def open_feed(
    spec: FeedSpec,
    topic: TopicSpec,
    pipelines: Iterable[PipelineSpec],
    *,
    bootstrap: Sequence[str],
    client: Mapping[str, str],
    folder: Path,
    include: Path,
    clock: Clock | None = None,
) -> Iterator[Feed]:
    """Connect a feed to its topic.

    Of all pipelines, those that read the topic decide the heartbeat and what comes too late.

    Raises:
        NotReadyError: the source's data are not installed.
        SpecError: the source's file is not there, or holds lines that are no records.
        UnreachableError: no broker answered.
    """
    source = load_source(spec, topic, include)
    with (
        KafkaPythonAdministration(bootstrap, client) as administration,
        KafkaPythonProducer(bootstrap, topic.name, client) as producer,
    ):
        reader, store = KafkaPythonReader(administration, topic.name), ManifestStore(folder)
        clock = clock or SystemClock()
        reading = [pipeline for pipeline in pipelines if topic.name in pipeline.topics]
        yield Feed(spec, topic, reading, source=source, producer=producer, reader=reader, store=store, clock=clock)
