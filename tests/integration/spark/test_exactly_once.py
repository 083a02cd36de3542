"""Drivers that die at the worst moments, real ones, against a real broker; the table must equal the oracle."""

from __future__ import annotations

import shutil

import pytest

from sluice.streams.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace
from tests.oracle import departures, differences

EXPECTED = ("2013-01-01", "2013-01-02")


def assert_exact(place: DriverPlace, records: int) -> None:
    """Nothing lost and nothing twice, in both tables; and every hour is closed."""
    assert differences(place.table("departures"), departures(*EXPECTED)) == []
    assert place.table("departures_live").empty
    raw = place.table("flights_raw")
    assert len(raw) == records
    assert not raw.duplicated(["topic_id", "partition", "offset"]).any()
    for _, offsets in raw.groupby("partition")["offset"]:
        assert sorted(offsets) == list(range(len(offsets)))


@pytest.mark.timeout(600)
def test_kills_around_every_commit_lose_nothing_and_repeat_nothing(place: DriverPlace, two_days: int) -> None:
    for failpoint in (
        "before_write@flights_raw",
        "after_write_before_commit@flights_raw",
        "after_write_before_commit@departures",
    ):
        killed = place.run(failpoint=failpoint)
        assert killed.returncode == -9, killed.stdout[-2000:]
        assert place.fired(failpoint)
    finished = place.run(generation=2)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-2000:]
    assert_exact(place, two_days)

    # A lost checkpoint: everything is read again, and nothing is written again.
    shutil.rmtree(place.state / "checkpoints")
    again = place.run(generation=3)
    assert again.returncode == ExitCode.STOPPED, again.stdout[-2000:]
    assert_exact(place, two_days)

    # A zombie: the generation before the last comes back and may publish nothing.
    versions = {name: len(place.table(name)) for name in ("departures", "flights_raw")}
    zombie = place.run(generation=2)
    assert zombie.returncode == ExitCode.FENCED, zombie.stdout[-2000:]
    assert {name: len(place.table(name)) for name in versions} == versions
    assert_exact(place, two_days)
