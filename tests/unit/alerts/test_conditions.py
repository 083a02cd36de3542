"""What of a fleet somebody has to know, and what is certainly over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from sluice.alerts.conditions import PATIENCE, FleetConditions, conditions_of
from sluice.specs.load import load_catalog
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.deadlines import Deadline
from sluice.streams.health.fleet import StreamStatus
from sluice.streams.health.health import Health
from sluice.streams.health.recording import DWELL
from sluice.streams.health.snapshots import DeadlineState
from sluice.streams.health.verdict import Verdict
from tests.unit.alerts.examples import NOW

OK = StreamStatus(
    unit="flights",
    stream="departures",
    verdict=Verdict(Health.OK, "It keeps up."),
    snapshot=None,
    since=NOW - timedelta(hours=1),
    halted="",
    should_run=True,
    restarts=0,
    generation=7,
    changed_at=NOW - timedelta(hours=2),
)
CATALOG = load_catalog(Path(__file__).parents[3] / "include")
SUBJECT, UNIT = "stream departures", "unit flights"


def standing(health: Health, *, for_: timedelta = timedelta(hours=1), **fields: object) -> StreamStatus:
    values = {"verdict": Verdict(health, "As seen.", "act"), "since": NOW - for_, **fields}
    return replace(OK, **values)


def conditions(*standings: StreamStatus) -> FleetConditions:
    return conditions_of(standings, CATALOG, NOW)


@pytest.mark.parametrize(
    ("health", "alert_class"),
    [
        (Health.LOSS_RISK, AlertClass.LOSS_RISK),
        (Health.REWOUND, AlertClass.REWOUND),
        (Health.STALLED, AlertClass.STALLED),
        (Health.STOPPED, AlertClass.STOPPED),
        (Health.UNKNOWN, AlertClass.UNKNOWN),
    ],
)
def test_a_bad_verdict_is_a_condition_with_its_owner(health: Health, alert_class: AlertClass) -> None:
    (found,) = conditions(standing(health)).conditions.values()
    assert (found.subject, found.alert_class, found.owner) == (SUBJECT, alert_class, "flight-operations")
    assert (found.why, found.what_to_do, found.unit) == ("As seen.", "act", "flights")


@pytest.mark.parametrize("health", [Health.OK, Health.IDLE, Health.LAGGING])
def test_other_verdicts_are_none(health: Health) -> None:
    assert conditions(standing(health)).conditions == {}


@pytest.mark.parametrize("alert_class", PATIENCE)
def test_a_short_absence_is_nothing_to_be_told_of(alert_class: AlertClass) -> None:
    health = Health(alert_class.value.upper())
    assert not conditions(standing(health, for_=PATIENCE[alert_class] - timedelta(seconds=1))).conditions
    assert conditions(standing(health, for_=PATIENCE[alert_class])).conditions


def test_what_shall_not_run_is_no_condition_and_everything_of_it_is_over() -> None:
    found = conditions(standing(Health.STOPPED, should_run=False))
    assert not found.conditions
    assert (SUBJECT, AlertClass.LOSS_RISK) in found.over
    assert {(UNIT, AlertClass.HALTED), (UNIT, AlertClass.FAILED_RUN)} <= found.over.keys()


def test_a_halted_unit_is_one_condition_however_many_streams_it_has() -> None:
    halted = standing(Health.STOPPED, halted="it failed five times")
    found = conditions(halted, replace(halted, stream="raw_flights"))
    assert list(found.conditions) == [(UNIT, AlertClass.HALTED)]
    assert (UNIT, AlertClass.FAILED_RUN) not in found.over


def test_what_is_well_must_have_been_so_for_a_while() -> None:
    risk = (SUBJECT, AlertClass.LOSS_RISK)
    assert risk not in conditions(standing(Health.OK, for_=DWELL - timedelta(seconds=1))).over
    assert risk in conditions(standing(Health.OK, for_=DWELL)).over


def test_a_failed_run_is_over_when_all_streams_of_the_unit_are_well() -> None:
    failed = (UNIT, AlertClass.FAILED_RUN)
    assert failed in conditions(OK, replace(OK, stream="raw_flights")).over
    assert failed not in conditions(OK, replace(standing(Health.STALLED), stream="raw_flights")).over
    assert failed not in conditions(replace(OK, changed_at=NOW - timedelta(seconds=30))).over


@pytest.mark.parametrize("should_run", [True, False])
def test_nothing_is_over_that_nobody_can_see(should_run: bool) -> None:
    assert conditions(standing(Health.UNKNOWN, should_run=should_run)).over == {}


def test_a_unit_that_somebody_resumed_is_halted_no_more_once_it_works_and_not_before() -> None:
    halted = (UNIT, AlertClass.HALTED)
    resumed = {"changed_at": NOW - timedelta(minutes=1)}
    assert halted not in conditions(standing(Health.UNKNOWN, for_=timedelta(minutes=1), **resumed)).over
    assert halted not in conditions(standing(Health.OK, for_=timedelta(minutes=1), **resumed)).over
    working = conditions(
        standing(Health.LAGGING, changed_at=NOW - DWELL), standing(Health.OK, stream="raw_flights")
    ).over
    assert working[halted] == "It is LAGGING now, generation 7. As seen."
    assert halted not in conditions(OK, standing(Health.STALLED, stream="raw_flights")).over


def test_a_start_is_nothing_to_be_told_of_and_ends_nothing() -> None:
    found = conditions(standing(Health.STARTING))
    assert not found.conditions
    assert not found.over


DEADLINE = ("stream departures, deadline loss_risk", AlertClass.DEADLINE)
LATE = DeadlineState(Deadline.LOSS_RISK, True, NOW - timedelta(minutes=5), "It is late.", "look")


def test_a_missed_deadline_is_a_condition_with_what_the_stream_does_and_how_often_it_is_repeated() -> None:
    found = conditions(standing(Health.LAGGING, deadlines=(LATE,))).conditions[DEADLINE]
    assert found.what == "Stream departures misses its deadline loss_risk (unit flights)"
    assert (found.why, found.since, found.owner) == ("It is late.", LATE.since, "flight-operations")
    assert found.facts == ("verdict now: LAGGING. As seen.",)
    assert (found.what_to_do, found.repeat) == ("act", CATALOG.deadlines_of("departures").remind)
    advised = standing(Health.OK, verdict=Verdict(Health.OK, "It keeps up."), deadlines=(LATE,))
    assert conditions(advised).conditions[DEADLINE].what_to_do == "look"


def test_a_deadline_that_is_met_again_is_over_and_its_recovery_says_so() -> None:
    found = conditions(replace(OK, deadlines=(replace(LATE, missed=False, why="No unread record is late."),)))
    assert DEADLINE not in found.conditions
    assert found.over[DEADLINE] == "No unread record is late."
    assert found.titles[DEADLINE] == "Stream departures meets its deadline again: loss_risk (unit flights)"


def test_a_deadline_that_is_not_declared_any_more_is_no_condition() -> None:
    found = conditions(replace(OK, deadlines=(replace(LATE, deadline=Deadline.LAG_RECORDS),)))
    assert found.conditions == {}
