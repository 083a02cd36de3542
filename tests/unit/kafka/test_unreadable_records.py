"""Records that kafka-python does not read: each way of reading says so, and takes it for no outage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

import pytest
from kafka import codec
from kafka.errors import KafkaConnectionError, UnsupportedCodecError
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from sluice.errors import NotReadyError, RefusedError, SluiceError, UnreachableError
from sluice.kafka import live_records, records, stored_records
from sluice.kafka.live_records import KafkaLiveRecords
from sluice.kafka.newest_keys import KafkaPythonKeyReader
from sluice.kafka.records import KafkaPythonRecords, read_stamps
from sluice.kafka.stored_records import KafkaPythonStoredRecords
from sluice.topics.administration import TopicExtent
from sluice.topics.records import Record

NOBODY = ["127.0.0.1:1"]


class NoText(str):
    """A name of a header that a producer in C or Go may send."""

    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        return b"\xff"


def odd_header() -> None:
    """Read such a record as the consumer does."""
    batch = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1_000)
    batch.append(0, 0, None, b"{}", [(NoText("x"), b"")])
    list(DefaultRecordBatch(batch.build()))


def no_library() -> None:
    raise UnsupportedCodecError("Libraries for lz4 compression codec not found")


def no_broker() -> None:
    raise KafkaConnectionError("it is gone")


class Consumer:
    """A consumer with one record, of which nothing comes."""

    def __init__(self, fails: Callable[[], None]) -> None:
        self.fails = fails

    def assign(self, _partitions: object) -> None:
        """Whatever they are."""

    seek = resume = lambda *_: None

    def poll(self, **_: object) -> None:
        self.fails()

    def close(self) -> None:
        """There is no connection."""


class Cluster:
    """An administration that knows what the topic holds."""

    bootstrap, client = NOBODY, dict[str, str]()

    def __init__(self, *_: object, **__: object) -> None:
        """Connect to nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """There is no connection."""

    def extent(self, _topic: str) -> TopicExtent:
        return TopicExtent("id", {0: 0}, {0: 1})


def read() -> object:
    return list(KafkaPythonRecords(NOBODY).read("flights", {0: 0}, {0: 1}))


def stamps() -> object:
    return read_stamps(NOBODY, {}, "flights", {0: 0}, deadline_seconds=5)


def stored() -> object:
    return list(KafkaPythonStoredRecords(NOBODY, {}, "flights", patience_seconds=1).records({0: [(0, 0)]}))


def live() -> object:
    return KafkaLiveRecords(NOBODY, {}, "flights").read(0)


def keys() -> object:
    return KafkaPythonKeyReader(Cluster()).newest_keys("flights", 10)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", [read, stamps, stored, live, keys])
@pytest.mark.parametrize(
    ("fails", "kind", "why"),
    [
        (odd_header, RefusedError, "flights has a record that cannot be read here .*UnicodeDecodeError"),
        (no_library, NotReadyError, r"flights has records whose compression cannot be read here .*lz4"),
        (no_broker, UnreachableError, "flights could not be read"),
    ],
)
def test_what_cannot_be_read_however_often_it_is_tried_is_told_from_an_outage(
    monkeypatch: pytest.MonkeyPatch,
    way: Callable[[], object],
    fails: Callable[[], None],
    kind: type[SluiceError],
    why: str,
) -> None:
    for module in (records, stored_records, live_records):
        monkeypatch.setattr(module, "open_consumer", lambda *_, **__: Consumer(fails))
    for reader in (stored_records, live_records):
        monkeypatch.setattr(reader, "KafkaPythonAdministration", Cluster)
    with pytest.raises(kind, match=why):
        way()


def test_the_keys_before_such_a_record_are_a_sample_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def halfway(*_: object) -> Iterator[Record]:
        yield Record(0, 0, None, False, b"k", b"{}")
        raise RefusedError("the next one is damaged.")

    monkeypatch.setattr(KafkaPythonRecords, "read", halfway)
    assert KafkaPythonKeyReader(Cluster()).newest_keys("flights", 10).keys == {0: [b"k"]}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("encode", "decode"),
    [
        (codec.gzip_encode, codec.gzip_decode),
        (codec.snappy_encode, codec.snappy_decode),
        (codec.lz4_encode, codec.lz4_decode),
        (codec.zstd_encode, codec.zstd_decode),
    ],
    ids=["gzip", "snappy", "lz4", "zstd"],
)
def test_each_compression_of_kafka_is_read(
    encode: Callable[[bytes], bytes] | None, decode: Callable[[bytes], bytes] | None
) -> None:
    assert encode is not None, "its library is not installed"
    assert decode is not None
    assert decode(encode(b"flights" * 1_000)) == b"flights" * 1_000
