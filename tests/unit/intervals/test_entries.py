from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sluice.errors import CorruptionError
from sluice.intervals.arrivals import ArrivalClocks, ArrivalSpan
from sluice.intervals.entries import (
    AttemptEntry,
    BackfillEntry,
    Content,
    Entry,
    ExaminedSource,
    LossyRange,
    SettleEntry,
    StreamEntry,
    VerifiedEntry,
    from_json,
    to_json,
)
from sluice.intervals.reach import Hole, Reach

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ENTRY = StreamEntry(
    writer="departures:id:0",
    generation=3,
    lineage="l",
    batch_id=7,
    start={"flights/0": 1},
    end={"flights/0": 9},
    origin={"flights/0": 0},
    watermark=NOON,
    code="abc",
    holes=(Hole("f", "flights/0", 3, 5),),
    times="broker",
)
FAR = ArrivalSpan(NOON + 99 * HOUR, NOON + 99 * HOUR)
WAITING = ArrivalClocks(unconfirmed={"weather/0": (FAR,)}, lead=-2 * HOUR, base=NOON)
ENTRIES: list[Entry] = [
    ENTRY,
    AttemptEntry("departures:id:0", 5, "def", direct=True),
    BackfillEntry("b1", "correct", "me", "", {"flights/0": 9}, {NOON: True}, {NOON: Content(0, "0")}, "abc", "passed"),
    VerifiedEntry("b1", (NOON,), "abc", as_of=3),
    SettleEntry(
        "settle:departures",
        4,
        "n8",
        NOON,
        NOON,
        {
            "flights": ExaminedSource({"flights/0": 9}, ("f",), ArrivalClocks({"flights/0": NOON}), NOON - HOUR, HOUR),
            "weather": ExaminedSource({"weather/0": 2}, ("w", "x"), WAITING),
        },
        content={NOON: Content(2, "-340282366920938463463374607431768211456")},
        overtaken={NOON: {"flights/0": 8, "weather/0": 0}},
        lossy=(LossyRange(NOON - HOUR, NOON, Hole("x", "weather/0", 2, 3)),),
        code="abc",
        static={"airlines": "a digest"},
    ),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind)
def test_an_entry_reads_back_as_it_was_written(entry: Entry) -> None:
    assert from_json(to_json(entry)) == entry


def test_a_settlement_of_one_topic_reaches_as_far_as_it_was_examined() -> None:
    (settled,) = (entry for entry in ENTRIES if isinstance(entry, SettleEntry))
    alone = replace(settled, sources={"flights": settled.sources["flights"]})
    assert alone.reach == Reach({"flights/0": 9}, ("f",))
    assert settled.reach == Reach({"flights/0": 9, "weather/0": 2}, ("flights/f", "weather/w", "weather/x"))


@pytest.mark.parametrize("text", [None, "", "no json", "[1]", '{"somebody": "else"}'])
def test_commits_of_others_are_none_of_ours(text: str | None) -> None:
    assert from_json(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"sluice": 99}',
        '{"sluice": 1}',
        to_json(ENTRY).replace('"generation":3', '"unknown":3'),
        to_json(ENTRY).replace("2013-01-01T", "yesterday"),
    ],
)
def test_an_entry_of_ours_that_cannot_be_read_is_corruption(text: str) -> None:
    with pytest.raises(CorruptionError):
        from_json(text)
