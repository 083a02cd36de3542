from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.specs.model.deadlines import Deadline
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import FRESH, DeadlineState, Rates, SnapshotPolicy, StreamSnapshot, rates_of
from sluice.streams.health.verdict import Verdict
from sluice.streams.health.window import Window
from tests.twins.observations import Done, moment, observed, steadily, window_of


def test_of_a_stream_that_was_observed_once_nothing_is_known_about_arrivals() -> None:
    assert rates_of(Window(), moment(0)) == Rates(None, None)
    seen = observed(60, [Done(0, 10, 100)])
    assert rates_of(window_of([seen]), moment(60)) == Rates(None, None)


def test_rates_are_what_came_and_what_was_read_by_the_second() -> None:
    done = steadily(10)
    observations = [observed(at, done, done[-1].end + 5 * (at - 500)) for at in range(500, 701, 20)]
    found = rates_of(window_of(observations), moment(700))
    assert found.arriving == pytest.approx(5.0)
    since = 400  # five minutes before
    before = max((each for each in done if each.committed <= since), key=lambda each: each.committed)
    assert found.read == pytest.approx((done[-1].end - before.end) / 300)


def test_a_stream_that_committed_nothing_of_late_reads_nothing() -> None:
    observations = [observed(at, [Done(0, 10, 100), Done(20, 30, 200)], 200) for at in range(1000, 1100, 10)]
    assert rates_of(window_of(observations), moment(1090)) == Rates(0.0, 0.0)


FINE, WRONG = Verdict(Health.OK, "It works."), Verdict(Health.STALLED, "It stands.")


def due(
    keeping: SnapshotPolicy, verdict: Verdict, at: float, *, generation: int = 1, stream: str = "departures"
) -> bool:
    return keeping.due(StreamSnapshot("flights", stream, generation, moment(at), verdict))


def keep(
    keeping: SnapshotPolicy, verdict: Verdict, at: float, cpu_seconds: float = 0.0, *streams: str, **more: int
) -> None:
    """Have observations of streams kept, by default at the one."""
    observations = [StreamSnapshot("flights", each, more.get("generation", 1), moment(at), verdict) for each in streams]
    keeping.stored(
        observations or [StreamSnapshot("flights", "departures", more.get("generation", 1), moment(at), verdict)],
        cpu_seconds,
    )


def test_an_observation_is_kept_every_ten_seconds_as_long_as_that_is_cheap() -> None:
    keeping, kept = SnapshotPolicy(), []
    for at in (0, 5, 9.5, 15, 20):
        if due(keeping, FINE, at):
            keep(keeping, FINE, at)
            kept.append(at)
    assert kept == [0, 9.5, 20]
    assert keeping.valid_for == FRESH


def test_an_observation_of_a_stream_that_begins_or_ceases_to_miss_a_deadline_is_kept_at_once() -> None:
    keeping, late = SnapshotPolicy(), DeadlineState(Deadline.LAG, True, moment(0), "It waits for 15 min.")
    keep(keeping, FINE, 0)
    assert keeping.due(StreamSnapshot("flights", "departures", 1, moment(1), FINE, deadlines=(late,)))
    keeping.stored([StreamSnapshot("flights", "departures", 1, moment(1), FINE, deadlines=(late,))], 0.0)
    assert not keeping.due(StreamSnapshot("flights", "departures", 1, moment(2), FINE, deadlines=(late,)))
    assert due(keeping, FINE, 2)


def test_an_observation_that_the_control_database_has_not_taken_is_due_until_it_has() -> None:
    keeping = SnapshotPolicy()
    assert due(keeping, FINE, 0)
    assert due(keeping, FINE, 1)
    keep(keeping, FINE, 1)
    assert not due(keeping, FINE, 2)


def test_a_clock_that_was_set_back_keeps_no_observation_from_being_kept() -> None:
    keeping = SnapshotPolicy()
    keep(keeping, FINE, 3600)
    assert due(keeping, FINE, 0)


def test_of_many_streams_an_observation_that_shows_nothing_new_is_kept_more_seldom_and_is_good_for_longer() -> None:
    keeping, streams = SnapshotPolicy(), [f"s{number}" for number in range(10_000)]
    keep(keeping, FINE, 0, 0.36, *streams)
    assert due(keeping, FINE, 10, stream="s0"), "what one round has cost may be its first time"
    keep(keeping, FINE, 10, 0.36, *streams)
    assert not due(keeping, FINE, 210, stream="s1")
    assert due(keeping, FINE, 300, stream="s1")
    assert keeping.valid_for == timedelta(minutes=10)


def test_what_is_wrong_or_has_changed_is_kept_whatever_it_costs() -> None:
    keeping = SnapshotPolicy()
    keep(keeping, FINE, 0, 10.0)
    keep(keeping, FINE, 0, 10.0)
    assert not due(keeping, FINE, 60)
    assert due(keeping, WRONG, 1)
    keep(keeping, WRONG, 1, 10.0)
    assert [due(keeping, WRONG, at) for at in (5, 10)] == [False, True]
    assert due(keeping, FINE, 12)
    keep(keeping, FINE, 12, 10.0)
    assert due(keeping, FINE, 13, generation=2)
    assert not due(keeping, FINE, 60)
