"""What every RecordReader does. Subclasses give it, one that reaches no broker (`elsewhere`), and `append`."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from sluice.errors import UnreachableError
from sluice.topics.administration import KafkaAdministration, TopicCreation
from sluice.topics.records import Record, RecordReader

NOON = datetime(2013, 1, 7, 12, 0, 0, 123_000, tzinfo=UTC)


class Append(Protocol):
    """Appends a record."""

    def __call__(
        self,
        topic: str,
        partition: int,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: tuple[tuple[str, bytes], ...] = (),
        at: datetime = NOON,
    ) -> None: ...


class RecordReaderSuite:
    @pytest.fixture
    def name(self, administration: KafkaAdministration) -> str:
        name = f"topic_{uuid.uuid4().hex[:12]}"
        administration.create([TopicCreation(name, 2, 1, {"retention.ms": "-1"})])
        return name

    def test_a_record_is_read_as_it_was_sent(self, reader: RecordReader, name: str, append: Append) -> None:
        headers = (("trace", b"\xff\x00"), ("trace", b""))
        append(name, 1, b"\x00\xff", key=b"k", headers=headers, at=NOON)
        assert list(reader.read(name, {1: 0}, {1: 1})) == [Record(1, 0, NOON, False, b"k", b"\x00\xff", headers)]

    def test_what_is_missing_is_not_empty(self, reader: RecordReader, name: str, append: Append) -> None:
        append(name, 0, None, key=b"")
        append(name, 0, b"")
        tombstone, empty = reader.read(name, {0: 0}, {0: 2})
        assert (tombstone.key, tombstone.value) == (b"", None)
        assert (empty.key, empty.value, empty.headers) == (None, b"", ())

    def test_a_range_begins_with_its_start_and_ends_before_its_end(
        self, reader: RecordReader, name: str, append: Append
    ) -> None:
        for number in range(5):
            append(name, 0, str(number).encode())
        append(name, 1, b"other")
        found = list(reader.read(name, {0: 1, 1: 0}, {0: 4, 1: 1}))
        assert [record.value for record in found if record.partition == 0] == [b"1", b"2", b"3"]
        assert [record.value for record in found if record.partition == 1] == [b"other"]

    def test_one_reader_reads_again_and_elsewhere(self, reader: RecordReader, name: str, append: Append) -> None:
        for number in range(3):
            append(name, 0, str(number).encode())
        append(name, 1, b"other")
        assert [r.offset for r in reader.read(name, {0: 0}, {0: 3})] == [0, 1, 2]
        assert next(iter(reader.read(name, {0: 0}, {0: 3}))).offset == 0
        assert [r.partition for r in reader.read(name, {1: 0}, {1: 1})] == [1]
        assert [r.offset for r in reader.read(name, {0: 1, 1: 1}, {0: 3, 1: 1})] == [1, 2]

    def test_an_empty_range_is_read_without_a_broker(self, elsewhere: RecordReader, name: str) -> None:
        assert list(elsewhere.read(name, {0: 3}, {0: 3, 1: 0})) == []

    def test_the_brokers_time_is_told_from_the_producers(
        self, reader: RecordReader, name: str, append: Append, administration: KafkaAdministration
    ) -> None:
        administration.set_configs(name, {"message.timestamp.type": "LogAppendTime"})
        before = datetime.now(UTC)
        append(name, 0, b"{}", at=NOON)
        (record,) = reader.read(name, {0: 0}, {0: 1})
        assert record.appended
        assert record.at is not None
        assert timedelta(seconds=-1) < record.at - before < timedelta(minutes=1)

    def test_a_dead_cluster_is_unreachable_and_not_empty(self, elsewhere: RecordReader, name: str) -> None:
        with pytest.raises(UnreachableError, match="could be reached"):
            list(elsewhere.read(name, {0: 0}, {0: 1}))
