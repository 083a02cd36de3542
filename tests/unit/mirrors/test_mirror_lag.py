"""Verdicts on mirrors."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from sluice.mirrors.lag import CopyLag, MirrorLag, MirrorVerdict, judge
from sluice.specs.deployments.mirror import MirrorSpec
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.status import UnitStatus
from tests.twins.clock import START

SPEC = MirrorSpec(name="standby", source="here", target="there", topics=("flights",), max_lag=timedelta(minutes=5))
LONG_AGO = START - timedelta(hours=1)


def asked(state: Desired) -> DesiredState:
    return DesiredState("mirror_standby", state, "ada", "to see", LONG_AGO)


def attempt(state: AttemptState = AttemptState.BOUND) -> Attempt:
    return Attempt("mirror_standby", 1, "here.mirror_standby.g1", state, LONG_AGO)


def alive(since: datetime = LONG_AGO) -> UnitStatus:
    report = DriverReport("here.mirror_standby.g1", DriverState.RUNNING, 7, since)
    return UnitStatus("mirror_standby", asked(Desired.RUNNING), attempt(), report)


def behind(age: timedelta, copied: int = 5, end: int = 9) -> MirrorLag:
    fine = CopyLag("flights/0", 7, 7)
    return MirrorLag((fine, CopyLag("flights/1", copied, end, START - age)))


def verdict(status: UnitStatus, lag: MirrorLag | str) -> MirrorVerdict:
    return judge(SPEC, status, lag, START)


def test_a_mirror_that_keeps_up_is_well_and_says_how_far_it_is() -> None:
    assert verdict(alive(), behind(timedelta(), copied=9)).why == "Everything is copied."
    found = verdict(alive(), behind(timedelta(minutes=5)))
    assert (found.health, found.alerts) == (Health.OK, False)
    assert found.said == (
        "It is less than 5 minutes behind. 4 offsets are not copied, the oldest record of flights/1 for 5 minutes."
    )


@pytest.mark.parametrize(
    ("status", "lag", "health", "said"),
    [
        (
            alive(),
            behind(timedelta(minutes=5, seconds=1)),
            Health.LAGGING,
            "It is more than 5 minutes behind. 4 offsets",
        ),
        (alive(), replace(behind(timedelta()), absent=("sales",)), Health.STALLED, "The target has no sales yet"),
        (alive(), behind(timedelta(), copied=10), Health.REWOUND, "More was copied of flights/1 than the source has"),
        (alive(), "no broker answers.", Health.UNKNOWN, "how far it is behind is not known. no broker answers"),
    ],
)
def test_what_somebody_has_to_look_at_alerts(
    status: UnitStatus, lag: MirrorLag | str, health: Health, said: str
) -> None:
    found = verdict(status, lag)
    assert (found.health, found.alerts) == (health, True)
    assert said in found.said


def test_an_alert_is_news_by_a_sentence_that_stays_the_same() -> None:
    ages = (timedelta(hours=1), timedelta(hours=2))
    assert len({verdict(alive(), behind(age)).why for age in ages}) == 1
    assert len({verdict(alive(), behind(age)).said for age in ages}) == 2


def test_one_that_has_just_started_may_be_behind() -> None:
    young = alive(START - timedelta(seconds=30))
    for lag in (behind(timedelta(hours=1)), replace(behind(timedelta()), absent=("sales",))):
        assert (verdict(young, lag).health, verdict(young, lag).alerts) == (Health.STARTING, False)


def test_one_that_shall_not_run_alerts_nobody() -> None:
    never = UnitStatus("mirror_standby", None, None, None)
    stopped = UnitStatus("mirror_standby", asked(Desired.STOPPED), attempt(AttemptState.ENDED), None)
    for status, said in ((never, "never started"), (stopped, "ada requested the stop (to see)")):
        found = verdict(status, "nobody asks.")
        assert (found.health, found.alerts) == (Health.STOPPED, False)
        assert said in found.why


def test_one_that_died_is_started_again_until_it_died_too_often() -> None:
    dead = replace(
        attempt(AttemptState.ENDED), ended_at=START, reason="ran out of memory", failure=FailureClass.OUT_OF_MEMORY
    )
    once = UnitStatus("mirror_standby", asked(Desired.RUNNING), dead, None)
    assert (verdict(once, "").health, verdict(once, "").alerts) == (Health.STOPPED, False)
    assert "ran out of memory; it is started again not before" in verdict(once, "").why
    earlier = tuple(replace(dead, generation=n, ended_at=START - timedelta(minutes=9 - n)) for n in range(8, 0, -1))
    often = replace(once, attempt=replace(dead, generation=9), earlier=earlier)
    assert verdict(often, "").alerts
    assert "sluice mirror start standby" in verdict(often, "").what_to_do


def test_a_launcher_that_is_silent_proves_nothing() -> None:
    unseen = UnitStatus("mirror_standby", asked(Desired.RUNNING), attempt(), None, ("the launcher is silent",))
    assert verdict(unseen, "").health is Health.UNKNOWN
    assert verdict(unseen, "").alerts
