from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topics import newest as module
from sluice.topics.administration import TopicCreation
from sluice.topics.newest import NewestRecords, newest, onwards
from sluice.topics.records import Record
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.topic_records import NOON, InMemoryRecords

TOPIC = "flights"


def bench(partitions: int = 2) -> tuple[InMemoryKafkaAdministration, InMemoryRecords]:
    cluster = InMemoryKafkaAdministration()
    cluster.create([TopicCreation(TOPIC, partitions, 1)])
    return cluster, InMemoryRecords(cluster)


def sent(records: InMemoryRecords, moments: Sequence[tuple[int, int]]) -> None:
    for partition, second in moments:
        records.append(TOPIC, partition, str(second).encode(), at=NOON + timedelta(seconds=second))


def seconds(found: NewestRecords) -> list[int]:
    return [int(record.value or b"") for record in found.records]


def test_the_newest_of_all_partitions_come_in_the_order_of_time() -> None:
    cluster, records = bench()
    sent(records, [(0, 1), (0, 3), (0, 6), (1, 2), (1, 4), (1, 5)])
    assert seconds(newest(records, TOPIC, cluster.extent(TOPIC), 4)) == [3, 4, 5, 6]
    assert seconds(newest(records, TOPIC, cluster.extent(TOPIC), 99)) == [1, 2, 3, 4, 5, 6]
    assert newest(records, TOPIC, cluster.extent(TOPIC), 0) == NewestRecords(())


def test_of_a_large_topic_little_is_read() -> None:
    cluster, records = bench(1)
    sent(records, [(0, second) for second in range(5_000)])
    assert seconds(newest(records, TOPIC, cluster.extent(TOPIC), 3)) == [4997, 4998, 4999]
    assert records.checked == 3


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9) | st.none()), max_size=40),
    st.integers(0, 12),
    st.integers(0, 9),
)
def test_whatever_the_gaps_and_times_the_newest_are_the_last_of_each_partition_in_its_order(
    moments: list[tuple[int, int | None]], most: int, trimmed: int
) -> None:
    cluster, records = bench(3)
    for partition, second in moments:
        if second is None:
            records.skip(TOPIC, partition)
        else:
            sent(records, [(partition, second)])
    cluster.trim(TOPIC, 0, min(trimmed, cluster.ends(TOPIC)[0]))
    extent = cluster.extent(TOPIC)
    there = [r for r in records.held.get(TOPIC, {}).values() if r.offset >= extent.beginnings[r.partition]]
    found = newest(records, TOPIC, extent, most).records
    assert len(found) == min(most, len(there))
    first = onwards(records, TOPIC, extent.beginnings, extent.ends, most)
    assert len(first.records) == min(most, len(there))
    assert first.more or len(there) <= most
    for partition in range(3):
        offsets = sorted(r.offset for r in there if r.partition == partition)
        shown = of(found, partition)
        assert shown == offsets[len(offsets) - len(shown) :]
        assert of(first.records, partition) == offsets[: len(of(first.records, partition))]


def of(records: Sequence[Record], partition: int) -> list[int]:
    return [record.offset for record in records if record.partition == partition]


def test_gaps_are_gone_back_over_and_the_order_stays() -> None:
    cluster, records = bench(1)
    for second in range(9):
        sent(records, [(0, second)])
        records.skip(TOPIC, 0, 2)
    extent = cluster.extent(TOPIC)
    assert seconds(newest(records, TOPIC, extent, 4)) == [5, 6, 7, 8]
    assert seconds(onwards(records, TOPIC, {0: 1}, extent.ends, 4)) == [1, 2, 3, 4]


def test_a_key_is_found_behind_other_records() -> None:
    cluster, records = bench()
    records.append(TOPIC, 1, b"1", key=b"wanted")
    sent(records, [(1, second) for second in range(2, 500)])
    wanted = newest(records, TOPIC, cluster.extent(TOPIC), 1, wanted=lambda record: record.key == b"wanted")
    assert seconds(wanted) == [1]
    assert wanted.given_up == ()


def test_it_says_where_it_gave_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_OFFSETS", 50)
    cluster, records = bench()
    records.append(TOPIC, 1, b"1", key=b"wanted")
    sent(records, [(1, second) for second in range(2, 500)])
    extent = cluster.extent(TOPIC)
    wanted = newest(records, TOPIC, extent, 1, wanted=lambda record: record.key == b"wanted")
    assert (wanted.records, wanted.given_up) == ((), (1,))
    after = onwards(records, TOPIC, {0: 0, 1: 1}, extent.ends, 1, wanted=lambda record: record.key == b"wanted")
    assert (after.records, after.given_up, after.more) == ((), (1,), False)
    assert records.checked == 100


def test_from_some_offset_the_first_ones_come_and_it_says_that_there_are_more() -> None:
    cluster, records = bench()
    sent(records, [(0, 1), (0, 3), (0, 6), (1, 2), (1, 4), (1, 5)])
    found = onwards(records, TOPIC, {0: 1, 1: 0}, cluster.ends(TOPIC), 3)
    assert (seconds(found), found.more) == ([2, 3, 4], True)
    found = onwards(records, TOPIC, {0: 1, 1: 0}, cluster.ends(TOPIC), 5)
    assert (seconds(found), found.more) == ([2, 3, 4, 5, 6], False)
