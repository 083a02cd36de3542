"""What every record of observations does. Subclasses give `newest`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sluice.settling.status import HeldAdvance, SettlingStatus
from sluice.specs.model.deadlines import Deadline
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import DeadlineState, Rates, SnapshotStore, StreamSnapshot
from sluice.streams.health.verdict import PartitionLag, Verdict
from tests.twins.clock import START

FULL = StreamSnapshot(
    "flights",
    "departures",
    3,
    START,
    Verdict(
        Health.LAGGING,
        "2 records are unread: “é”.",
        "give it cores.",
        lag_records=2**40,
        batches=17,
        committed_at=START - timedelta(seconds=1, microseconds=500),
        completeness=0.75,
        lag_seconds=1.5,
        watermark_lag_seconds=2.5,
        catch_up_seconds=3.5,
        loss_seconds=4.5,
        partitions=(PartitionLag("flights/0", 2, 1.5), PartitionLag("flights/1", 0)),
        settling=SettlingStatus(
            START,
            settled_until=START - timedelta(hours=3),
            due=2,
            due_since=START - timedelta(seconds=90),
            unread=("flights/1",),
            advance=HeldAdvance("flights/0", START + timedelta(days=365)),
            disorder=timedelta(seconds=2, microseconds=5),
        ),
    ),
    Rates(12.5, 0.0),
    timedelta(minutes=7),
    START - timedelta(hours=1),
    (
        DeadlineState(Deadline.LAG, True, START - timedelta(minutes=5), "It waits for “15 min”.", "look"),
        DeadlineState(Deadline.IDLE, False, START - timedelta(minutes=9), "Records arrive."),
    ),
)
BARE = StreamSnapshot("flights", "raw_flights", 1, START, Verdict(Health.UNKNOWN, "Nothing is known."))


class SnapshotStoreSuite:
    def test_at_first_nothing_was_seen(self, newest: SnapshotStore) -> None:
        assert newest.of(["flights"]) == {}
        newest.store([])
        assert newest.of([]) == {}

    def test_an_observation_comes_back_as_it_was(self, newest: SnapshotStore) -> None:
        newest.store([BARE, FULL])
        assert newest.of(["flights", "weather"]) == {"flights": {"departures": FULL, "raw_flights": BARE}}

    def test_a_later_observation_takes_the_place_of_an_earlier_one(self, newest: SnapshotStore) -> None:
        later = replace(FULL, at=START + timedelta(seconds=10), generation=4)
        newest.store([FULL, BARE])
        newest.store([later])
        assert newest.of(["flights"]) == {"flights": {"departures": later, "raw_flights": BARE}}

    def test_a_watcher_that_is_behind_changes_nothing(self, newest: SnapshotStore) -> None:
        newest.store([FULL])
        newest.store([replace(FULL, at=START - timedelta(milliseconds=1), generation=2), BARE])
        assert newest.of(["flights"]) == {"flights": {"departures": FULL, "raw_flights": BARE}}

    def test_an_observation_from_the_future_makes_room_for_those_after_the_clock_was_set_back(
        self, newest: SnapshotStore
    ) -> None:
        newest.store([replace(FULL, at=START + timedelta(hours=1))])
        newest.store([FULL])
        assert newest.of(["flights"]) == {"flights": {"departures": FULL}}

    def test_a_thousand_are_kept_and_read_together(self, newest: SnapshotStore) -> None:
        many = [replace(FULL, unit=f"unit{number}") for number in range(1001)]
        newest.store(many)
        assert newest.of([each.unit for each in many]) == {each.unit: {"departures": each} for each in many}
