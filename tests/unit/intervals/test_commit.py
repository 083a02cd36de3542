from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sluice.errors import CorruptionError
from sluice.intervals.commit import CommitEntry

ENTRY = CommitEntry(
    writer="departures:id:0",
    generation=3,
    lineage="l",
    batch_id=7,
    start={"flights/0": 1},
    end={"flights/0": 9},
    origin={"flights/0": 0},
    watermark=datetime(2013, 1, 1, 12, tzinfo=UTC),
    closed_until=datetime(2013, 1, 1, 12, tzinfo=UTC),
    code="abc",
)


def test_an_entry_reads_back_as_it_was_written() -> None:
    assert CommitEntry.from_json(ENTRY.to_json()) == ENTRY


@pytest.mark.parametrize("text", [None, "", "no json", "[1]", '{"somebody": "else"}'])
def test_commits_of_others_are_none_of_ours(text: str | None) -> None:
    assert CommitEntry.from_json(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"sluice": 99}',
        '{"sluice": 1}',
        ENTRY.to_json().replace('"generation":3', '"unknown":3'),
        ENTRY.to_json().replace("2013-01-01T", "yesterday"),
    ],
)
def test_an_entry_of_ours_that_cannot_be_read_is_corruption(text: str) -> None:
    with pytest.raises(CorruptionError):
        CommitEntry.from_json(text)
