"""A topic for feeds, in memory: producer and reader in one, with acknowledgements as late and uneven as a test wants.

A record that was sent waits in its partition's queue. It is appended, and acknowledged, when the queue's turn comes; a
partition keeps its order. When the sender dies, some of what waits is still appended, the rest is lost, and nobody is
told which.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Mapping

from sluice.topics.administration import TopicExtent
from sluice.topics.records import Record, RecordPosition, RecordTooLargeError


class InMemoryAcknowledgement:
    def __init__(self, topic: InMemoryTopic, partition: int) -> None:
        self._topic = topic
        self.partition = partition
        self.position: RecordPosition | None = None

    def done(self) -> bool:
        self._topic.let_time_pass()
        return self.position is not None

    def wait(self) -> RecordPosition:
        while self.position is None:
            self._topic.deliver(self.partition)
        return self.position


class InMemoryTopic:
    """`patience` is how many records may wait on average before one is delivered; 0 acknowledges at once."""

    def __init__(self, partitions: int = 4, patience: int = 0, seed: int = 0) -> None:
        self.log: list[list[bytes | None]] = [[] for _ in range(partitions)]
        self.waiting: list[deque[tuple[bytes, InMemoryAcknowledgement]]] = [deque() for _ in range(partitions)]
        self.trimmed = [0] * partitions
        self.behind_open: dict[int, int] = {}
        """How many of the last records of a partition a transaction of somebody else holds back."""
        self.largest: int | None = None
        """Of how many bytes a record may be at most; None: of any number."""
        self.id = "topic-1"
        self._patience = patience
        self._random = random.Random(seed)

    def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> InMemoryAcknowledgement:
        if self.largest is not None and len(value) + len(key or b"") > self.largest:
            raise RecordTooLargeError(f"A record is larger than {self.largest} bytes.", fix="leave it out.")
        chosen = partition if partition is not None else sum(key or b"") % len(self.log)
        acknowledgement = InMemoryAcknowledgement(self, chosen)
        self.waiting[chosen].append((value, acknowledgement))
        self.let_time_pass()
        return acknowledgement

    def extent(self) -> TopicExtent:
        return TopicExtent(self.id, self.beginnings(), self.ends(), self.held())

    def beginnings(self) -> Mapping[int, int]:
        return dict(enumerate(self.trimmed))

    def ends(self) -> Mapping[int, int]:
        return {partition: len(log) - self.behind_open.get(partition, 0) for partition, log in enumerate(self.log)}

    def held(self) -> Mapping[int, int]:
        return {partition: count for partition, count in self.behind_open.items() if count}

    def read(self, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[Record]:
        for partition, last in end.items():
            for offset in range(start[partition], last):
                yield Record(partition, offset, None, False, None, self.log[partition][offset])

    def append(self, value: bytes | None, partition: int = 0) -> None:
        """Add a record of somebody else."""
        self.log[partition].append(value)

    def let_time_pass(self) -> None:
        for partition in range(len(self.log)):
            if self.waiting[partition] and self._random.randint(0, self._patience) == 0:
                self.deliver(partition)

    def deliver(self, partition: int) -> None:
        value, acknowledgement = self.waiting[partition].popleft()
        self.log[partition].append(value)
        acknowledgement.position = RecordPosition(partition, len(self.log[partition]) - 1)

    def lose_the_sender(self) -> None:
        """Deliver some of what waits, and forget the rest."""
        for partition, waiting in enumerate(self.waiting):
            for _ in range(self._random.randint(0, len(waiting))):
                self.deliver(partition)
            waiting.clear()

    def values(self) -> list[bytes | None]:
        return [value for partition in self.log for value in partition]
