"""Protobuf on Spark: whatever bytes come, nothing raises or is dropped, and Protobuf's own library agrees."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sluice.spark.records.decoding import FAULT, FAULT_DETAIL
from tests.protobuf_oracle import parsed, silent_faults
from tests.protobuf_records import FLIGHT, columns, declared, decoded, good, read


def in_pieces(chance: random.Random) -> bytes:
    """Return fields in any order and number, some of them written as another type."""
    found = b""
    for _ in range(chance.randrange(1, 6)):
        field = chance.choice(FLIGHT.DESCRIPTOR.fields)
        piece = FLIGHT()
        whole = good()
        for kept in chance.choices(whole.ListFields(), k=2):
            _copy(piece, whole, kept[0].name)
        head = field.number << 3 | chance.choice([0, 1, 2, 5])
        other = bytes([head & 0x7F | 0x80, head >> 7]) + chance.choice([b"\x00", b"\x01\x01", bytes(4), bytes(8)])
        found += other if chance.random() < 0.2 else piece.SerializeToString()
    return found


def _copy(piece: Any, whole: Any, name: str) -> None:  # noqa: ANN401 - of a class that is made of text
    left = FLIGHT.FromString(whole.SerializeToString())
    for field in FLIGHT.DESCRIPTOR.fields:
        if field.name != name:
            left.ClearField(field.name)
    piece.MergeFrom(left)


def mutated(chance: random.Random) -> bytes:
    """Return random bytes, or a record of which a few bytes are others, missing or too many."""
    more = {"speed": chance.choice([1.5, float("inf")]), "small": chance.choice([1, -1, 2**31 - 1])}
    data = bytearray(good(**(more if chance.random() < 0.3 else {})).SerializeToString())
    match chance.randrange(12):
        case 0:
            return chance.randbytes(chance.randrange(60))
        case 1:
            del data[chance.randrange(len(data)) :]
        case 2:
            place = chance.randrange(len(data))
            data[place:place] = chance.randbytes(chance.randrange(1, 4))
        case 3:
            data += bytes(
                chance.choice([0, 8, 13, 18, 40, 66, 0x9B, 0x9C, 1, 2, 0x80]) for _ in range(chance.randrange(6))
            )
        case 4:
            first = chance.randrange(len(data))
            data = data[:first] + data[chance.randrange(len(data)) :]
        case 5:
            data = data + data[chance.randrange(len(data)) :]
        case 6 | 7 | 8 | 9:
            return in_pieces(chance)
        case _:
            for _ in range(chance.randrange(4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def wanted_fault(data: bytes) -> str | None:
    """Return what must become of a record: by the library, and by what it passes over."""
    if not data:
        return "empty"
    message: Any = parsed(FLIGHT, data)
    faults = {"malformed"} if message is None else silent_faults(FLIGHT.DESCRIPTOR, data)
    if "malformed" in faults:
        return "malformed"
    if "not_finite" in faults:
        return "not_finite"
    times = [getattr(message, name) for name in ("at", "seen")]
    known = all(-62135596800 <= at.seconds <= 253402300799 and 0 <= at.nanos < 10**9 for at in times)
    return None if known and message.place in (0, 1, 2) and not faults else "wrong_type"


def agree(spark: SparkSession, values: list[bytes]) -> Counter[str | None]:
    rows = decoded(spark, declared(), [*values])
    for data, row in zip(values, rows, strict=True):
        assert row[FAULT] == wanted_fault(data), (data.hex(), row[FAULT_DETAIL])
        if row[FAULT] is None:
            message = parsed(FLIGHT, data)
            assert columns(row) == read(message), data.hex()
    return Counter(row[FAULT] for row in rows)


def test_some_thousand_records_are_judged_as_the_library_does(spark: SparkSession) -> None:
    chance = random.Random(0)
    found = agree(spark, [mutated(chance) for _ in range(4_000)])
    assert {None, "malformed", "wrong_type", "empty", "not_finite"} <= set(found), found
    assert min(found[None], found["malformed"], found["wrong_type"]) > 150, found


@pytest.mark.verify
@pytest.mark.timeout(1200)
def test_half_a_million_records_are_judged_as_the_library_does(spark: SparkSession) -> None:
    for seed in range(1, 26):
        chance = random.Random(seed)
        agree(spark, [mutated(chance) for _ in range(20_000)])
