"""A feed put together with the cluster that it is sent to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sluice.clock import Clock, SystemClock
from sluice.feeds.connectors.live_sources import live_of, live_source
from sluice.feeds.following.follow import FeedFollower, FollowedTopic
from sluice.feeds.following.manifest import FollowManifestStore
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
        KafkaPythonProducer(bootstrap, topic.name, client, largest_batch=topic.largest_batch) as producer,
    ):
        reader, store = KafkaPythonReader(administration, topic.name), ManifestStore(folder)
        clock = clock or SystemClock()
        reading = [pipeline for pipeline in pipelines if topic.name in pipeline.topics]
        yield Feed(spec, topic, reading, source=source, producer=producer, reader=reader, store=store, clock=clock)


@contextmanager
def open_follower(
    spec: FeedSpec,
    topic: TopicSpec,
    *,
    bootstrap: Sequence[str],
    client: Mapping[str, str],
    folder: Path,
    home: Path,
    tell: Callable[[str], None],
    clock: Clock | None = None,
) -> Iterator[FeedFollower]:
    """Connect a feed that follows a live source to its topic; the source is connected when it is followed.

    Args:
        spec: the feed.
        topic: its topic.
        bootstrap: addresses of brokers.
        client: settings of the client.
        folder: of the feed's manifest.
        home: the project, below which relative folders are.
        tell: gets a sentence about each disconnection, with its reason.
        clock: the machine's, unless given.

    Raises:
        SpecError: the feed has no live source.
        NotConfiguredError: a variable that the spec names is not set here.
        UnreachableError: no broker answered.
    """
    clock, live = clock or SystemClock(), live_of(spec)
    source = live_source(live, topic, home, clock, tell)
    with (
        KafkaPythonAdministration(bootstrap, client) as administration,
        KafkaPythonProducer(bootstrap, topic.name, client, largest_batch=topic.largest_batch) as producer,
    ):
        reader, store = KafkaPythonReader(administration, topic.name), FollowManifestStore(folder)
        into = FollowedTopic(topic.name, producer, reader)
        yield FeedFollower(spec.name, live, source=source, into=into, store=store, clock=clock, tell=tell)
