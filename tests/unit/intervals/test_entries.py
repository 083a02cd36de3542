from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sluice.errors import CorruptionError
from sluice.intervals.arrivals import ArrivalClocks, ArrivalSpan
from sluice.intervals.entries import (
    AttemptEntry,
    BackfillEntry,
    Content,
    DirtyEntry,
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
    closed_until=NOON,
    suspect_until=NOON - timedelta(minutes=1),
    code="abc",
    content={NOON: Content(2, "-340282366920938463463374607431768211456")},
)
ENTRIES: list[Entry] = [
    ENTRY,
    AttemptEntry("departures:id:0", 4, "def", replaced="abc", mixed_until=NOON),
    AttemptEntry("departures:id:0", 5, "def", direct=True),
    DirtyEntry("departures:id:0", 4, 8, {"flights/0": 12}, (NOON,), "batch 8 dropped records"),
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
            "weather": ExaminedSource({"weather/0": 2}, ("w", "x"), ArrivalClocks(base=NOON)),
        },
        overtaken={NOON: {"flights/0": 8, "weather/0": 0}},
        static={"airlines": "a digest"},
    ),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind)
def test_an_entry_reads_back_as_it_was_written(entry: Entry) -> None:
    assert from_json(to_json(entry)) == entry


OF_ONE_TOPIC = """{"clocks":{"accepted":{"flights/0":"2013-01-01T15:00:00Z"},"base":"2013-01-01T11:00:00Z","begun":{},
"lead":"-PT2H","unconfirmed":{"flights/1":[{"first":"2013-01-05T15:00:00Z","last":"2013-01-05T15:00:00Z",
"witnessed":false}]}},"code":"abc","content":{"2013-01-01T12:00:00Z":{"checksum":"7","rows":2}},"disorder":"PT7M",
"examined":{"flights/0":9,"flights/1":4},"first_event":null,"generation":3,"kind":"settle","lossy":[{"hole":{"end":3,
"first":2,"partition":"flights/1","topic":"new"},"since":"2013-01-01T11:00:00Z","until":"2013-01-01T12:00:00Z"}],
"nonce":"n7","overtaken":{"2013-01-01T10:00:00Z":{"flights/0":8}},"settled_until":"2013-01-01T13:00:00Z",
"since":"2013-01-01T12:00:00Z","sluice":2,"topics":["old","new"],"writer":"settle:departures"}"""
"""A settlement as it was written when a pipeline read one topic."""


def test_a_settlement_of_before_is_one_of_its_topic() -> None:
    far = NOON + 99 * HOUR
    clocks = ArrivalClocks(
        {"flights/0": NOON + 3 * HOUR}, {"flights/1": (ArrivalSpan(far, far),)}, -2 * HOUR, NOON - HOUR
    )
    entry = SettleEntry(
        "settle:departures",
        3,
        "n7",
        NOON,
        NOON + HOUR,
        {"flights": ExaminedSource({"flights/0": 9, "flights/1": 4}, ("old", "new"), clocks, None, HOUR * 7 / 60)},
        content={NOON: Content(2, "7")},
        overtaken={NOON - 2 * HOUR: {"flights/0": 8}},
        lossy=(LossyRange(NOON - HOUR, NOON, Hole("new", "flights/1", 2, 3)),),
        code="abc",
    )
    assert from_json(OF_ONE_TOPIC) == from_json(to_json(entry)) == entry
    assert entry.reach == Reach({"flights/0": 9, "flights/1": 4}, ("old", "new")), "no other than it was"


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
