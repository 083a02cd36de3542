"""Which keys change partition when a topic grows: measured on keys that it holds, never assumed. Pure.

A record's partition is its key's hash modulo the number of partitions, as long as the producers use a partitioner that
does so. No broker knows which one they use; the records show it: either all of them lie where a partitioner puts their
keys, or it was another one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

MAX_RECORDS = 10_000
"""How many of a topic's newest records are read, over all partitions."""

_SEED, _FACTOR, _BITS = 0x9747B28C, 0x5BD1E995, 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
_CHANCE = 1e-3
"""Keys that lie right by chance more often than this prove no partitioner."""


def murmur2(key: bytes) -> int:
    """Return the unsigned 32-bit hash by which Kafka's own clients place a key (MurmurHash2 with Kafka's seed)."""
    value = _SEED ^ len(key)
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _FACTOR & _BITS
        word = (word ^ word >> 24) * _FACTOR & _BITS
        value = value * _FACTOR & _BITS ^ word
    if rest := key[whole:]:
        value = (value ^ int.from_bytes(rest, "little")) * _FACTOR & _BITS
    value = (value ^ value >> 13) * _FACTOR & _BITS
    return value ^ value >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """Return where the default partitioner of Kafka's own clients puts a record with this key."""
    return (murmur2(key) & _POSITIVE) % partitions


def _by_crc32(key: bytes, partitions: int) -> int:
    """Return where the default partitioner of librdkafka and the clients built on it puts a record with this key."""
    return zlib.crc32(key) % partitions


_Partitioner = Callable[[bytes, int], int]
_PARTITIONERS: Mapping[str, _Partitioner] = {"murmur2": partition_of, "crc32": _by_crc32}


@dataclass(frozen=True)
class KeySample:
    """Keys of the newest records of a topic.

    Attributes:
        keys: by partition, in the order of their offsets; None for a record without a key.
        held: how many offsets each partition holds, by which its records weigh.
    """

    keys: Mapping[int, Sequence[bytes | None]] = field(default_factory=dict)
    held: Mapping[int, int] = field(default_factory=dict)


class KeyReader(Protocol):
    """Reads keys of a topic's newest records. The real adapter and its in-memory twin pass one suite."""

    def newest_keys(self, topic: str, most: int) -> KeySample:
        """Return the keys of the newest records, at most so many of each partition, and what each partition holds.

        A partition that is empty, or that did not answer in time, has no keys.

        Raises:
            RefusedError: there is no such topic.
            UnreachableError: no broker answered.
        """
        ...


@dataclass(frozen=True)
class KeyMoves:
    """What a growth does to the keys of a sample.

    Attributes:
        records: those with a key in the sample.
        keyless: those without one; they have no order to keep.
        keys: how many different ones there were.
        of_keys: the share of them that gets another partition; None: unknown.
        of_records: the share of the records with such keys, each partition weighing what it holds; None: unknown.
        partitioner: by which the records lie where they do: `murmur2` (Kafka's own clients) or `crc32` (librdkafka);
            empty: unknown.
        unknown: why nothing is known, as a clause; empty if it is known.
    """

    records: int
    keyless: int
    keys: int
    of_keys: float | None = None
    of_records: float | None = None
    partitioner: str = ""
    unknown: str = ""

    def __str__(self) -> str:
        """Return it as a clause."""
        if self.of_keys is None or self.of_records is None:
            return f"the share of keys that change partition is unknown: {self.unknown}"
        keyless = f"; {self.keyless:,} more have no key" if self.keyless else ""
        return (
            f"{self.of_keys:.1%} of {self.keys:,} keys, with {self.of_records:.1%} of the records, get another "
            f"partition (measured on the newest {self.records:,} records with a key, placed by {self.partitioner}"
            f"{keyless})"
        )


def most_of_each(partitions: int) -> int:
    """Return how many records of each partition are read."""
    return max(1, MAX_RECORDS // partitions)


def moves(sample: KeySample, before: int, after: int) -> KeyMoves:
    """Measure what a growth does to the keys of a sample.

    The result is unknown where the records prove no partitioner: the producers may use another one, the records may be
    older than an earlier growth, or there are too few keys to tell.
    """
    keyed = {p: [key for key in keys if key is not None] for p, keys in sample.keys.items()}
    records = sum(map(len, keyed.values()))
    keyless = sum(map(len, sample.keys.values())) - records
    different = {key for keys in keyed.values() for key in keys}
    key_moves = KeyMoves(records, keyless, len(different))
    name, unknown = _partitioner_of(key_moves, keyed, before)
    if unknown:
        return KeyMoves(records, keyless, len(different), unknown=unknown)
    partitioner = _PARTITIONERS[name]
    moved = {key: partitioner(key, before) != partitioner(key, after) for key in different}
    return KeyMoves(
        records,
        keyless,
        len(different),
        of_keys=sum(moved.values()) / len(moved),
        of_records=_weighted(keyed, sample.held, moved),
        partitioner=name,
    )


def _partitioner_of(key_moves: KeyMoves, keyed: Mapping[int, Sequence[bytes]], before: int) -> tuple[str, str]:
    """Return the partitioner by which all records lie where they do, and why that is not known; one of them empty."""
    if not key_moves.records:
        return "", (
            f"none of the newest {key_moves.keyless:,} records has a key"
            if key_moves.keyless
            else "no record was found"
        )
    if before == 1:
        return "", "with one partition nothing shows how the producers place their keys"
    astray = {name: next(_astray(keyed, partitioner, before), None) for name, partitioner in _PARTITIONERS.items()}
    fits = [name for name, first in astray.items() if first is None]
    if not fits:
        partition, key = astray["murmur2"] or (0, b"")
        count = sum(1 for _ in _astray(keyed, partition_of, before))
        return "", (
            f"{count:,} of the newest {key_moves.records:,} records do not lie where Kafka's default partitioner puts "
            f"their keys (one lies in partition {partition}, its key belongs to {partition_of(key, before)}): "
            "another partitioner sends them, or they are older than the last growth"
        )
    if before**-key_moves.keys > _CHANCE or len(fits) > 1:
        keys = "1 key is" if key_moves.keys == 1 else f"{key_moves.keys:,} keys are"
        return "", f"{keys} too few to show how the producers place them"
    return fits[0], ""


def _astray(
    keyed: Mapping[int, Sequence[bytes]], partitioner: _Partitioner, partitions: int
) -> Iterator[tuple[int, bytes]]:
    """Yield the records that lie elsewhere than a partitioner puts them: their partitions and keys."""
    for partition, keys in sorted(keyed.items()):
        yield from ((partition, key) for key in keys if partitioner(key, partitions) != partition)


def _weighted(keyed: Mapping[int, Sequence[bytes]], held: Mapping[int, int], moved: Mapping[bytes, bool]) -> float:
    """Return the share of records that move, of each partition as its sample shows it, weighing what it holds."""
    sampled = {p: keys for p, keys in keyed.items() if keys}
    weights = {p: max(held.get(p, 0), len(keys)) for p, keys in sampled.items()}
    shares = {p: sum(moved[key] for key in keys) / len(keys) for p, keys in sampled.items()}
    return sum(weights[p] * shares[p] for p in sampled) / sum(weights.values())
