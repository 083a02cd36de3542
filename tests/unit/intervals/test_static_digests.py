"""The ledger says with which content of changing static inputs an interval was made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sluice.intervals.entries import BackfillEntry, Content, Entry, ExaminedSource, Logged, SettleEntry
from sluice.intervals.ledger import fold

HOUR = timedelta(hours=1)
NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
SOURCES = {"flights": ExaminedSource({"flights/0": 9}, ("f",))}


def settled(since: datetime, until: datetime, digest: str) -> SettleEntry:
    return SettleEntry("settle:departures", 1, "n", since, until, SOURCES, static={"airlines": digest})


def test_each_writing_names_its_own() -> None:
    late, content = {NOON: True}, {NOON: Content(1, "1")}
    entries: list[Entry] = [
        settled(NOON, NOON + HOUR, "a"),
        settled(NOON + HOUR, NOON + 3 * HOUR, "b"),
        BackfillEntry("b1", "correct", "me", "", {"flights/0": 9}, late, content, "c", "", static={"airlines": "d"}),
    ]
    rows = fold((Logged(version, NOON, entry) for version, entry in enumerate(entries)), HOUR).rows

    def digests(hours: int) -> list[str]:
        row = rows[NOON + hours * HOUR]
        return [written.static["airlines"] for written in (row.base, row.current) if written is not None]

    assert [digests(hours) for hours in range(3)] == [["a", "d"], ["b", "b"], ["b", "b"]]
