"""How many keys move when a topic grows: as brute force counts them, and unknown where nothing proves it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as murmur2_of_kafka_python

from sluice.provisioning.growth.keys import (
    MAX_RECORDS,
    KeyReader,
    KeySample,
    most_of_each,
    moves,
    murmur2,
    partition_of,
)
from tests.suites.topic_keys_suite import Fill, KeyReaderSuite
from tests.twins.topic_keys import InMemoryKeyReader


class TestInMemoryKeyReader(KeyReaderSuite):
    @pytest.fixture
    def reader(self) -> KeyReader:
        return InMemoryKeyReader()

    @pytest.fixture
    def fill(self, reader: InMemoryKeyReader) -> Fill:
        def fill(topic: str, keys: Sequence[Sequence[bytes | None]]) -> None:
            reader.logs[topic] = {partition: list(each) for partition, each in enumerate(keys)}

        return fill


JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
    b"": 275646681,
}
"""What the Java client's own tests expect, as signed numbers."""


@pytest.mark.parametrize(("key", "signed"), JAVA.items())
def test_the_hash_is_the_java_clients(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed % 2**32
    assert partition_of(key, 48) == (signed & 0x7FFFFFFF) % 48


@given(st.binary(max_size=40))
def test_the_hash_is_that_of_another_client(key: bytes) -> None:
    assert murmur2(key) == murmur2_of_kafka_python(key)


def share_that_moves(found: list[bytes], before: int, after: int) -> float:
    return sum(partition_of(key, before) != partition_of(key, after) for key in found) / len(found)


keys = st.lists(st.binary(max_size=12), min_size=1, max_size=60)
counts = st.integers(1, 40)


@given(keys, counts, counts)
def test_the_share_is_what_counting_gives(found: list[bytes], before: int, more: int) -> None:
    after = before + more
    moved = [key for key in found if murmur2(key) % 2**31 % before != murmur2(key) % 2**31 % after]
    assert share_that_moves(found, before, after) == pytest.approx(len(moved) / len(found))
    assert share_that_moves(found, before, before) == 0


@pytest.mark.parametrize(("before", "after"), [(4, 8), (4, 6), (6, 8), (3, 4)])
def test_many_keys_come_near_to_what_is_expected(before: int, after: int) -> None:
    many = [f"key-{number}".encode() for number in range(20_000)]
    assert share_that_moves(many, before, after) == pytest.approx(1 - gcd(before, after) / after, abs=0.02)


def test_librdkafkas_hash_is_the_one_that_its_tests_expect() -> None:
    key = b"hejsan"
    logs: list[list[bytes | None]] = [[] for _ in range(97)]
    others = [f"k{number}".encode() for number in range(20)]
    logs[0xD077037E % 97].append(key)
    assert moves(sample_of(logs), 97, 98).unknown
    place(logs, others, lambda each, partitions: crc32(each) % partitions)
    assert moves(sample_of(logs), 97, 98).partitioner == "crc32"


def crc32(key: bytes) -> int:
    """Return the checksum bit by bit, which is slow and needs no library."""
    value = 0xFFFFFFFF
    for byte in key:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def place(
    logs: list[list[bytes | None]], records: Sequence[bytes], by: Callable[[bytes, int], int] = partition_of
) -> None:
    for key in records:
        logs[by(key, len(logs))].append(key)


def sample_of(logs: Sequence[Sequence[bytes | None]]) -> KeySample:
    return InMemoryKeyReader({"t": dict(enumerate(logs))}).newest_keys("t", MAX_RECORDS)


@given(
    st.lists(st.integers(0, 80), min_size=60, max_size=200),
    st.integers(2, 6),
    st.integers(1, 6),
    st.sampled_from([murmur2, crc32]),
)
def test_what_lies_where_a_partitioner_puts_it_is_measured_by_keys_and_by_records(
    numbers: list[int], before: int, more: int, hashed: Callable[[bytes], int]
) -> None:
    records = [f"key-{number}".encode() for number in [*range(30), *numbers]]
    after = before + more
    logs: list[list[bytes | None]] = [[] for _ in range(before)]

    def by(key: bytes, partitions: int) -> int:
        return (hashed(key) & (0x7FFFFFFF if hashed is murmur2 else 0xFFFFFFFF)) % partitions

    place(logs, records, by)
    found = moves(sample_of(logs), before, after)
    moved = [key for key in records if by(key, before) != by(key, after)]
    assert found.unknown == ""
    assert found.partitioner == ("murmur2" if hashed is murmur2 else "crc32")
    assert (found.records, found.keys, found.keyless) == (len(records), len(set(records)), 0)
    assert found.of_keys == pytest.approx(len(set(moved)) / len(set(records)))
    assert found.of_records == pytest.approx(len(moved) / len(records))


def test_a_partition_weighs_what_it_holds_and_not_what_was_read_of_it() -> None:
    keys = [f"key-{number}".encode() for number in range(200)]
    logs: list[list[bytes | None]] = [[] for _ in range(2)]
    place(logs, keys)
    moved = {p: Fraction(sum(partition_of(key or b"", 3) != p for key in log), len(log)) for p, log in enumerate(logs)}
    assert moved[0] != moved[1]
    found = moves(KeySample(dict(enumerate(logs)), {0: 9_000, 1: 1_000}), 2, 3)
    assert found.of_records == pytest.approx(float((9 * moved[0] + moved[1]) / 10))


def test_one_record_that_lies_elsewhere_makes_the_share_unknown() -> None:
    logs: list[list[bytes | None]] = [[] for _ in range(4)]
    place(logs, [f"key-{number}".encode() for number in range(100)])
    logs[(partition_of(b"stray", 4) + 1) % 4].append(b"stray")
    found = moves(sample_of(logs), 4, 8)
    assert (found.of_keys, found.of_records, found.partitioner) == (None, None, "")
    assert "1 of the newest 101 records do not lie where Kafka's default partitioner puts" in found.unknown
    assert "unknown" in str(found)
    assert "%" not in str(found)


def test_records_from_before_an_earlier_growth_make_it_unknown() -> None:
    logs: list[list[bytes | None]] = [[] for _ in range(8)]
    place(logs[:4], [f"key-{number}".encode() for number in range(100)])
    assert "older than the last growth" in moves(sample_of(logs), 8, 16).unknown


@given(st.randoms(), st.integers(2, 8))
def test_records_that_lie_anywhere_are_never_given_a_share(chance: random.Random, before: int) -> None:
    logs: list[list[bytes | None]] = [[] for _ in range(before)]
    keys = [f"key-{number}".encode() for number in range(100)]
    place(logs, keys, lambda _key, partitions: chance.randrange(partitions))
    found = moves(sample_of(logs), before, 2 * before)
    assert (found.of_keys, found.of_records) == (None, None)


@pytest.mark.parametrize(
    ("logs", "why"),
    [
        ([[], []], "no record was found"),
        ([[None, None], [None]], "none of the newest 3 records has a key"),
        ([[b"a", b"b"]], "with one partition nothing shows"),
        ([[], [b"a"]] if partition_of(b"a", 2) else [[b"a"], []], "1 key is too few"),
    ],
)
def test_what_proves_no_partitioner_is_unknown(logs: list[list[bytes | None]], why: str) -> None:
    found = moves(sample_of(logs), len(logs), 8)
    assert found.of_keys is None
    assert why in found.unknown


def test_records_without_a_key_are_counted_and_move_nothing() -> None:
    logs: list[list[bytes | None]] = [[None] * 7, [None], [], []]
    place(logs, [f"key-{number}".encode() for number in range(100)])
    found = moves(sample_of(logs), 4, 8)
    assert (found.keyless, found.records) == (8, 100)
    assert found.of_keys == share_that_moves([f"key-{number}".encode() for number in range(100)], 4, 8)
    assert "8 more have no key" in str(found)


@pytest.mark.parametrize(("partitions", "most"), [(1, 10_000), (3, 3_333), (20_000, 1)])
def test_a_sample_stays_bounded_however_many_partitions_there_are(partitions: int, most: int) -> None:
    assert most_of_each(partitions) == most
