from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sluice.errors import CorruptionError
from sluice.intervals.entries import (
    AttemptEntry,
    BackfillEntry,
    Content,
    DirtyEntry,
    Entry,
    StreamEntry,
    VerifiedEntry,
    from_json,
    to_json,
)

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
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
    DirtyEntry("departures:id:0", 4, 8, {"flights/0": 12}, (NOON,), "batch 8 dropped records"),
    BackfillEntry("b1", "correct", "me", "", {"flights/0": 9}, {NOON: True}, {NOON: Content(0, "0")}, "abc", "passed"),
    VerifiedEntry("b1", (NOON,), "abc", as_of=3),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind)
def test_an_entry_reads_back_as_it_was_written(entry: Entry) -> None:
    assert from_json(to_json(entry)) == entry


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
