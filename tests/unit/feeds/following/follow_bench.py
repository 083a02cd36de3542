"""A follower on twins: what its tests share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sluice.feeds.following.ending import FollowUntil
from sluice.feeds.following.follow import FeedFollower, FollowedTopic
from sluice.feeds.following.manifest import FollowManifest, FollowManifestStore
from sluice.feeds.following.ports import EventSource
from sluice.specs.feeds.live import FolderSpec, LiveSourceSpec, SocketSpec, WebSocketSpec
from tests.twins.clock import ManualClock
from tests.twins.feed_topic import InMemoryAcknowledgement, InMemoryTopic
from tests.twins.feeds.live_source import InMemoryLiveSource, live_event

CURSOR = {"path": "$.time_us", "parameter": "cursor", "epoch": "microseconds", "overlap": "5 s"}
REPLAYING = WebSocketSpec.model_validate(
    {"url": "wss://source.example.org/", "cursor": CURSOR, "identity": "$.id", "key": "$.who", "max_unacknowledged": 7}
)
PASSING = SocketSpec.model_validate({"address": "source.example.org:7000", "key": "$.who"})


class KilledError(BaseException):
    """Stands for SIGKILL: nothing may catch it."""


class Steps:
    """Counts what a follower does, and kills it before one of these."""

    def __init__(self, last: int | None = None) -> None:
        self.taken, self._last = 0, last

    def __call__(self) -> None:
        if self.taken == self._last:
            raise KilledError
        self.taken += 1


class MemoryFollowStore(FollowManifestStore):
    """Keeps the manifest as text."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"))
        self.text: str | None = None
        self.retired: list[str] = []
        self.saves = 0
        self.step: Callable[[], None] = lambda: None

    def load(self) -> FollowManifest | None:
        return None if self.text is None else FollowManifest.model_validate_json(self.text)

    def save(self, manifest: FollowManifest) -> None:
        self.step()
        self.saves += 1
        self.text = manifest.model_dump_json()

    def retire(self, manifest: FollowManifest) -> None:
        self.retired.append(manifest.topic_id)
        self.text = None

    @contextmanager
    def alone(self) -> Any:  # noqa: ANN401 - as the context manager of the real one
        yield

    @property
    def manifest(self) -> FollowManifest:
        found = self.load()
        assert found is not None
        return found


class SteppingProducer:
    """Passes records on, and notes the most that were unacknowledged."""

    def __init__(self, topic: InMemoryTopic, step: Callable[[], None]) -> None:
        self._topic, self._step = topic, step
        self.most = 0

    def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> InMemoryAcknowledgement:
        self._step()
        acknowledgement = self._topic.send(key, value, partition)
        self.most = max(self.most, sum(map(len, self._topic.waiting)))
        return acknowledgement


class Bench:
    """A source, a topic and a manifest that outlive the followers of a test."""

    def __init__(self, source: EventSource, live: LiveSourceSpec, clock: ManualClock, *, patience: int = 0) -> None:
        self.source, self.live, self.clock = source, live, clock
        self.topic = InMemoryTopic(patience=patience)
        self.store = MemoryFollowStore()
        self.told: list[str] = []
        self.most = 0

    def follow(self, idle: float = 20, *, step: Callable[[], None] | None = None, **options: Any) -> FollowManifest:  # noqa: ANN401
        """Follow until nothing came for a while."""
        steps = step or Steps()
        self.store.step = steps
        producer = SteppingProducer(self.topic, steps)
        until = options.pop("until", None) or FollowUntil(idle_seconds=idle)
        follower = FeedFollower(
            "posts",
            self.live,
            source=self.source,
            into=FollowedTopic("posts", producer, self.topic),
            store=self.store,
            clock=self.clock,
            tell=self.told.append,
        )
        try:
            return follower.follow(until, **options)
        finally:
            self.most = max(self.most, producer.most)

    def values(self) -> Counter[bytes]:
        return Counter(value for value in self.topic.values() if value is not None)


EVENTS = [live_event(number) for number in range(30)]
"""A second apart."""


def bench(
    events: list[bytes] = EVENTS, *, patience: int = 0, live: object = REPLAYING
) -> tuple[InMemoryLiveSource, Bench]:
    clock = ManualClock()
    source = InMemoryLiveSource(events, clock)
    return source, Bench(source, live, clock, patience=patience)  # type: ignore[arg-type]


def ids(bench: Bench) -> list[int]:
    return sorted(json.loads(value)["id"] for value in bench.values().elements() if value.startswith(b"{"))


def folder_spec(**keys: object) -> FolderSpec:
    return FolderSpec.model_validate({"path": "in", "format": "lines", "complete_after": "0 s", **keys})
