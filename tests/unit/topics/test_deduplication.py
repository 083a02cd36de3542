"""Each record of a topic output counts once, whatever drivers died and whichever of them woke up again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from sluice.kafka.deduplication import deduplicated
from sluice.topics.deduplication import Deduplication, DeliveryHeaders

PARTITIONS = 2
Ids = list[list[str]]
"""The ids of one batch, by partition."""


@dataclass
class Topic:
    """Two partitions, as a broker keeps them."""

    partitions: list[list[DeliveryHeaders]] = field(default_factory=lambda: [[] for _ in range(PARTITIONS)])

    def send(self, generation: int, position: int, records: Sequence[tuple[int, str]]) -> None:
        for partition, name in records:
            self.partitions[partition].append(DeliveryHeaders(f"{position}-{name}", generation, position))

    def consumed(self) -> list[str]:
        """Return the ids that a consumer takes for news."""
        memory = Deduplication()
        return [d.id for number, log in enumerate(self.partitions) for d in log if memory.is_new(number, d)]


@st.composite
def histories(draw: st.DrawFn) -> tuple[Topic, list[str]]:
    """Draw batches whose drivers die in the middle, and zombies that send their rest at any later time."""
    topic, expected, generation = Topic(), [], 1
    zombies: list[tuple[int, int, list[tuple[int, str]]]] = []
    for position in range(2, 2 * draw(st.integers(1, 5)) + 2, 2):
        ids = draw(st.lists(st.integers(0, PARTITIONS - 1), max_size=5))
        batch = [(partition, str(number)) for number, partition in enumerate(ids)]
        expected += [f"{position}-{name}" for _, name in batch]
        for _ in range(draw(st.integers(0, 3))):  # deaths in the middle of this batch
            order = draw(st.permutations(batch))
            sent = draw(st.integers(0, len(order)))
            topic.send(generation, position, order[:sent])
            if draw(st.booleans()):
                zombies.append((generation, position, list(order[sent:])))
            generation += 1
            _wake(draw, topic, zombies)
        topic.send(generation, position, draw(st.permutations(batch)))
        _wake(draw, topic, zombies)
    return topic, expected


def _wake(draw: st.DrawFn, topic: Topic, zombies: list[tuple[int, int, list[tuple[int, str]]]]) -> None:
    """Let some zombies send a part of what they had left."""
    for generation, position, rest in zombies:
        some = draw(st.integers(0, len(rest)))
        topic.send(generation, position, rest[:some])
        del rest[:some]


def test_whoever_takes_everything_is_convicted() -> None:
    topic = Topic()
    topic.send(1, 2, [(0, "a"), (0, "b")])
    topic.send(2, 2, [(0, "b"), (0, "a"), (0, "c")])
    assert len(topic.partitions[0]) == 5
    assert topic.consumed() == ["2-a", "2-b", "2-c"]


def test_a_new_generation_that_lost_its_checkpoint_may_cut_lower() -> None:
    topic = Topic()
    topic.send(1, 100, [(0, "a")])
    topic.send(2, 60, [(0, "b")])
    topic.send(2, 120, [(0, "c")])
    assert topic.consumed() == ["100-a", "60-b", "120-c"]


def test_the_memory_is_one_batch_per_partition() -> None:
    memory = Deduplication()
    for position in range(2, 200, 2):
        for name in "abc":
            assert memory.is_new(0, DeliveryHeaders(f"{position}-{name}", 1, position))
    assert memory.state() == {0: {"generation": 1, "position": 198, "ids": ["198-a", "198-b", "198-c"]}}


@dataclass(frozen=True)
class Record:
    """A record as kafka-python hands it out, as far as it matters."""

    partition: int
    value: str
    headers: tuple[tuple[str, bytes], ...] = ()
    topic: str = "live"


def sent(partition: int, name: str, position: int) -> Record:
    headers = {"sluice-id": name, "sluice-generation": "1", "sluice-position": str(position)}
    return Record(partition, name, tuple((key, value.encode()) for key, value in headers.items()))


def test_records_of_a_consumer_are_told_apart_by_partition() -> None:
    records = [sent(0, "a", 2), sent(1, "a", 2), sent(0, "a", 2), sent(0, "b", 4), sent(0, "b", 2)]
    assert [(r.partition, r.value) for r in deduplicated(records)] == [(0, "a"), (1, "a"), (0, "b")]


def test_what_no_topic_output_has_sent_passes() -> None:
    foreign = [Record(0, "x"), Record(0, "x"), Record(0, "y", (("sluice-position", b"soon"),))]
    assert list(deduplicated(foreign)) == foreign


@dataclass
class RealtimeDriver:
    """Reads two source partitions from where a batch ended, and makes a record of each that its filter takes.

    Attributes:
        generation: its number.
        at: the next offset to read, by source partition.
    """

    generation: int
    at: dict[int, int]

    def send(self, topic: Topic, source: int, count: int, last: int) -> None:
        """Read so many records of a partition, and send what is made of them."""
        for offset in range(self.at[source], min(self.at[source] + count, last)):
            if made := target_of(source, offset):
                name = f"flights/{source}"
                topic.partitions[made - 1].append(DeliveryHeaders(f"{name}-{offset}", self.generation, offset, name))
            self.at[source] = offset + 1


def target_of(source: int, offset: int) -> int:
    """Return the partition, from 1, of the record that is made of one; 0 for one that the filter drops."""
    return (source * 7 + offset * 5) % (PARTITIONS + 1)


@st.composite
def realtime_histories(draw: st.DrawFn) -> tuple[Topic, list[str]]:
    """Draw drivers that die anywhere behind the last commit; some go on beside their successors, and commit, too."""
    topic, length, committed, drivers = (
        Topic(),
        draw(st.integers(1, 30)),
        {0: 0, 1: 0},
        [RealtimeDriver(1, {0: 0, 1: 0})],
    )
    steps = st.tuples(
        st.integers(0, 3), st.integers(0, 1), st.integers(1, 6), st.sampled_from(["on", "commit", "dies"])
    )
    for number, source, count, then in draw(st.lists(steps, max_size=25)):
        driver = drivers[min(number, len(drivers) - 1)]
        driver.send(topic, source, count, length)
        if then == "commit":
            committed = dict(driver.at)
        elif then == "dies":
            drivers.append(RealtimeDriver(drivers[-1].generation + 1, dict(committed)))
    for source in (0, 1):
        drivers[-1].send(topic, source, length, length)
    return topic, [f"flights/{s}-{o}" for s in (0, 1) for o in range(length) if target_of(s, o)]


@given(histories() | realtime_histories())
def test_every_record_is_taken_exactly_once(history: tuple[Topic, list[str]]) -> None:
    topic, expected = history
    assert sorted(topic.consumed()) == sorted(expected)


@given(histories() | realtime_histories(), st.data())
def test_a_consumer_that_keeps_its_state_with_its_offsets_may_restart_anywhere(
    history: tuple[Topic, list[str]], data: st.DataObject
) -> None:
    topic, expected = history
    taken, state = [], None
    for number, log in enumerate(topic.partitions):
        cut = data.draw(st.integers(0, len(log)))
        for part in (log[:cut], log[cut:]):
            memory = Deduplication(state)
            taken += [d.id for d in part if memory.is_new(str(number), d)]
            state = json.loads(json.dumps(memory.state()))
    assert sorted(taken) == sorted(expected)


def test_in_real_time_the_memory_is_one_number_per_source() -> None:
    memory = Deduplication()
    for offset in range(200):
        assert memory.is_new(0, DeliveryHeaders(f"flights/1-{offset}", 1, offset, "flights/1"))
    assert memory.state() == {0: {"generation": 1, "position": 0, "ids": [], "sources": {"flights/1": 199}}}
