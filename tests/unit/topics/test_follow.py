from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from sluice.errors import RefusedError
from sluice.topics.administration import TopicCreation
from sluice.topics.follow import follow
from sluice.topics.records import Record
from tests.twins.clock import ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.topic_records import InMemoryRecords

TOPIC = "flights"
_MOST_ROUNDS = 50


class Script:
    """A clock that does something each time somebody waits: the events of a test, one per round."""

    def __init__(self, *events: Callable[[], object]) -> None:
        self.events = list(events)
        self.clock = ManualClock()

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        assert self.clock.monotonic() < _MOST_ROUNDS, "nothing came any more"
        if self.events:
            self.events.pop(0)()

    def now(self) -> object:
        return self.clock.now()

    def monotonic(self) -> float:
        return self.clock.monotonic()


class Bench:
    def __init__(self) -> None:
        self.cluster = InMemoryKafkaAdministration()
        self.records = InMemoryRecords(self.cluster)
        self.told: list[str] = []
        self.cluster.create([TopicCreation(TOPIC, 2, 1)])

    def send(self, value: str, partition: int = 0) -> Callable[[], None]:
        return lambda: self.records.append(TOPIC, partition, value.encode())

    def follow(self, *events: Callable[[], object], only: tuple[int, ...] = ()) -> Iterator[Record]:
        seen = self.cluster.extent(TOPIC)
        return follow(
            TOPIC,
            seen,
            {p: end for p, end in seen.ends.items() if not only or p in only},
            administration=self.cluster,
            reader=self.records,
            clock=Script(*events),  # type: ignore[arg-type]
            report=self.told.append,
            only=only,
        )

    def away(self) -> None:
        self.cluster.reachable = False

    def back(self) -> None:
        self.cluster.reachable = True


@pytest.fixture
def bench() -> Bench:
    return Bench()


def take(records: Iterator[Record], count: int) -> list[str]:
    return [(next(records).value or b"").decode() for _ in range(count)]


def test_what_comes_is_shown_once_and_what_was_there_is_not(bench: Bench) -> None:
    bench.send("old")()
    coming = bench.follow(bench.send("a"), bench.send("b", 1), lambda: None, bench.send("c"))
    assert take(coming, 3) == ["a", "b", "c"]
    assert bench.told == []


def test_a_broker_that_is_away_is_told_once_and_waited_for(bench: Bench) -> None:
    def send_and_go() -> None:
        bench.send("b")()
        bench.away()

    later = (lambda: None, lambda: None, bench.send("c"))
    coming = bench.follow(bench.send("a"), send_and_go, lambda: None, lambda: None, bench.back, *later)
    assert take(coming, 3) == ["a", "b", "c"]
    away, back = bench.told
    assert away == "No Kafka broker could be reached. It is tried again until a broker answers."
    assert back == "The brokers answer again."


def test_one_that_goes_while_it_is_read_is_waited_for_and_nothing_comes_twice(bench: Bench) -> None:
    read, broken = bench.records.read, []

    def read_half(*arguments: object) -> Iterator[Record]:
        for record in read(*arguments):  # type: ignore[arg-type]
            yield record
            if not broken:
                broken.append(True)
                bench.away()
                yield from read(*arguments)  # type: ignore[arg-type]

    bench.records.read = read_half  # type: ignore[method-assign]

    def send_three() -> None:
        for value in "abc":
            bench.send(value)()

    coming = bench.follow(send_three, bench.back)
    assert take(coming, 3) == ["a", "b", "c"]
    assert len(bench.told) == 2


def test_one_partition_alone_is_followed(bench: Bench) -> None:
    coming = bench.follow(bench.send("a", 1), bench.send("b", 0), only=(0,))
    assert take(coming, 1) == ["b"]


def test_partitions_that_come_are_followed_from_their_first_record(bench: Bench) -> None:
    def grow() -> None:
        bench.cluster.grow(TOPIC, 3)
        bench.send("a", 2)()

    assert take(bench.follow(grow), 1) == ["a"]
    assert bench.told == []


def test_records_that_went_unread_are_told(bench: Bench) -> None:
    def lose_two() -> None:
        for value in "abc":
            bench.send(value)()
        bench.cluster.trim(TOPIC, 0, 2)

    assert take(bench.follow(lose_two), 1) == ["c"]
    assert bench.told == ["The records 0 to 1 of flights/0 were deleted before they could be read."]


def test_a_topic_that_was_created_again_is_followed_from_its_first_record(bench: Bench) -> None:
    bench.send("old")()

    def anew() -> None:
        bench.cluster.forget(TOPIC)
        bench.records.held.clear()
        bench.cluster.create([TopicCreation(TOPIC, 1, 1)])
        bench.send("new")()

    assert take(bench.follow(anew), 1) == ["new"]
    assert bench.told == ["flights was deleted and created again; what follows is the new one, from its first record."]


def test_records_that_the_brokers_lost_are_told(bench: Bench) -> None:
    for value in "abc":
        bench.send(value)()

    def lose_the_last() -> None:
        bench.cluster.offsets[TOPIC][0] = 2

    assert take(bench.follow(lose_the_last, bench.send("d")), 1) == ["d"]
    assert bench.told == ["flights/0 ends at offset 2 and had reached 3 before: the brokers lost records."]


def test_a_topic_that_is_gone_ends_it(bench: Bench) -> None:
    with pytest.raises(RefusedError, match="does not exist"):
        next(bench.follow(lambda: bench.cluster.forget(TOPIC)))
