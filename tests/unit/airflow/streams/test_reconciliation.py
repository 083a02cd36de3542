"""What the reconciler does about each unit."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from sluice.airflow.streams.reconciliation import decide, decide_one
from sluice.airflow.streams.stream_request import LONGEST_CLAIM, LONGEST_STOP
from sluice.errors import UnreachableError
from sluice.specs.catalog.catalog import Unit
from sluice.specs.units import DeclaredUnit
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.reconcile import ActionKind
from sluice.streams.life.status import UnitStatus
from tests.twins.clock import START

NOW = START + timedelta(days=1)
SOUND = DeclaredUnit(Unit("flights", ("flights",), ("departures",)))
BROKEN = replace(SOUND, faults=("include/pipelines/departures.yaml:1: ...",))
ALIVE = UnitStatus(
    "flights",
    DesiredState("flights", Desired.RUNNING, "ada", "launch", START),
    Attempt("flights", 1, "local.flights.g1", AttemptState.BOUND, START, bound_at=START),
    DriverReport("local.flights.g1", DriverState.RUNNING, pid=7, started_at=START),
)
DEAD = replace(ALIVE, report=DriverReport("local.flights.g1", DriverState.ENDED, exit_code=-9, ended_at=START))
HALTED = replace(
    DEAD,
    attempt=Attempt(
        "flights", 1, "local.flights.g1", AttemptState.ENDED, START, ended_at=START, exit_code=12, reason="failed"
    ),
)
UNSEEN = replace(ALIVE, report=None)


def stop_asked(ago: timedelta) -> UnitStatus:
    return replace(ALIVE, desired=DesiredState("flights", Desired.STOPPED, "ada", "upgrade", NOW - ago))


@pytest.mark.parametrize(
    ("declared", "status", "active_runs", "kind"),
    [
        pytest.param(SOUND, DEAD, 0, ActionKind.START, id="starts-what-died"),
        pytest.param(SOUND, HALTED, 0, ActionKind.NOTIFY, id="tells-of-what-is-halted"),
        pytest.param(SOUND, HALTED, 1, ActionKind.NOTHING, id="leaves-the-telling-to-the-watch"),
        pytest.param(SOUND, ALIVE, 0, ActionKind.WATCH, id="watches-what-runs-unwatched"),
        pytest.param(SOUND, ALIVE, 1, ActionKind.NOTHING, id="leaves-what-is-watched"),
        pytest.param(SOUND, DEAD, 1, ActionKind.NOTHING, id="does-not-pile-up-runs"),
        pytest.param(SOUND, UNSEEN, 0, ActionKind.NOTHING, id="leaves-what-cannot-be-seen"),
        pytest.param(BROKEN, DEAD, 0, ActionKind.NOTHING, id="starts-nothing-broken"),
        pytest.param(BROKEN, ALIVE, 0, ActionKind.WATCH, id="watches-a-broken-unit-that-runs"),
        pytest.param(SOUND, stop_asked(LONGEST_STOP), 1, ActionKind.STOP, id="finishes-a-stop-beside-a-watch"),
        pytest.param(SOUND, stop_asked(LONGEST_STOP / 2), 0, ActionKind.NOTHING, id="lets-a-stop-take-its-time"),
        pytest.param(SOUND, stop_asked(LONGEST_STOP), 2, ActionKind.NOTHING, id="leaves-a-stop-that-is-under-way"),
        pytest.param(SOUND, stop_asked(LONGEST_CLAIM), 2, ActionKind.STOP, id="finishes-a-stop-that-nobody-does"),
    ],
)
def test_the_reconciler(declared: DeclaredUnit, status: UnitStatus, active_runs: int, kind: ActionKind) -> None:
    assert decide_one(declared, status, active_runs, now=NOW).kind is kind


@pytest.mark.parametrize("error", [UnreachableError("the launcher does not answer."), ValueError("a torn record")])
def test_a_unit_that_cannot_be_observed_does_not_keep_others_from_being_started(error: Exception) -> None:
    weather = DeclaredUnit(Unit("weather", (), ("storms",)))

    def status_of(unit: str) -> UnitStatus:
        if unit == "flights":
            raise error
        return replace(DEAD, unit=unit)

    needed = decide([SOUND, weather], observe=status_of, active_runs=lambda _: 0, notified=lambda *_: False, now=NOW)

    assert [(unit, action.kind) for unit, action in needed] == [("weather", ActionKind.START)]


@pytest.mark.parametrize(("told_at", "needed"), [(None, True), (START - timedelta(seconds=1), True), (START, False)])
def test_a_halt_is_told_of_unless_somebody_was_told_since_it_ended(told_at: datetime | None, needed: bool) -> None:
    def told(unit: str, since: datetime) -> bool:
        assert unit == "flights"
        return told_at is not None and told_at >= since

    found = decide([SOUND], observe=lambda _: HALTED, active_runs=lambda _: 0, notified=told, now=NOW)

    assert [(action.kind, action.about) for _, action in found] == needed * [(ActionKind.NOTIFY, "local.flights.g1")]
