"""What makes a minute of an output good, bad, unknown or of no account."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

import pytest

from sluice.alerts.incidents import Key
from sluice.objectives.judging import minute_of
from sluice.objectives.log import Minute
from sluice.settling.status import SettlingStatus
from sluice.specs.catalog.objectives import DeclaredObjective
from sluice.specs.catalog.rhythm import Rhythm
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.deadlines import Objective, StreamDeadlines
from sluice.streams.health.fleet import StreamStatus
from sluice.streams.health.health import Health
from sluice.streams.health.verdict import Verdict, judge
from sluice.streams.health.window import Window
from tests.twins.clock import START as NOW
from tests.twins.observations import PARTITION, Done, observed

LIMITS = StreamDeadlines(lag=timedelta(minutes=10), age=timedelta(minutes=15))
GATE: Key = ("DAG quality_board", AlertClass.GATE)
PARITY: Key = ("DAG backfill_board", AlertClass.PARITY)


def ago(minutes: float) -> Any:  # noqa: ANN401 - a field of a verdict
    return NOW - timedelta(minutes=minutes)


def judged(
    health: Health = Health.OK,
    *,
    wanted: bool = True,
    counts: Literal["both", "fresh", "correct"] = "both",
    limits: StreamDeadlines = LIMITS,
    incidents: frozenset[Key] = frozenset(),
    has_lost: bool = False,
    **fields: Any,  # noqa: ANN401 - fields of the verdict
) -> Minute:
    objective = Objective(share=Decimal("99.9"), counts=counts)
    declared = DeclaredObjective("board", "board", "board", "flights", "ada", objective, limits)
    verdict = replace(Verdict(health, "Seen.", lag_records=0, lag_seconds=0.0, committed_at=ago(1)), **fields)
    since = ago(120)
    status = StreamStatus(
        *("flights", "board", verdict, None, since, "", wanted, 0, 1),
        changed_at=ago(60),
        last_at_work=verdict.committed_at,
        has_lost=has_lost,
    )
    return minute_of(declared, status, incidents, NOW)


@pytest.mark.parametrize("health", [Health.OK, Health.IDLE, Health.LAGGING, Health.STARTING, Health.STALLED])
def test_an_output_of_which_nothing_waits_is_good_whatever_the_verdict(health: Health) -> None:
    assert judged(health) is Minute.GOOD


@pytest.mark.parametrize(
    ("fields", "minute"),
    [
        ({"lag_records": 5, "lag_seconds": 600.0}, Minute.GOOD),
        ({"lag_records": 5, "lag_seconds": 601.0}, Minute.STALE),
        ({"lag_records": 5, "lag_seconds": None}, Minute.UNKNOWN),
        ({"lag_records": None, "lag_seconds": None}, Minute.UNKNOWN),
        ({"settling": SettlingStatus(NOW, due=1, due_since=ago(15))}, Minute.GOOD),
        ({"settling": SettlingStatus(NOW, due=1, due_since=ago(16))}, Minute.STALE),
    ],
)
def test_what_waits_longer_than_a_deadline_is_stale(fields: dict[str, Any], minute: Minute) -> None:
    assert judged(**fields) is minute


def test_each_limit_is_judged_by_itself() -> None:
    waiting: dict[str, Any] = {"lag_records": 5, "lag_seconds": 3600.0}
    age = StreamDeadlines(age=timedelta(minutes=15))
    assert judged(limits=age, **waiting) is Minute.GOOD, "a batch was committed a minute ago"
    assert judged(limits=age, **{**waiting, "committed_at": ago(16)}) is Minute.STALE
    many = StreamDeadlines(lag_records=4)
    assert judged(limits=many, **waiting) is Minute.STALE
    assert judged(limits=many, **{**waiting, "lag_records": 4}) is Minute.GOOD


def test_a_dead_driver_costs_nothing_before_a_record_would_have_waited_too_long() -> None:
    unread: dict[str, Any] = {"lag_records": None, "lag_seconds": None}
    assert judged(Health.STOPPED, committed_at=ago(10), **unread) is Minute.GOOD
    assert judged(Health.STOPPED, committed_at=ago(11), **unread) is Minute.STALE
    assert judged(Health.STOPPED, committed_at=None, **unread) is Minute.STALE, "its attempt ended an hour ago"


def test_what_was_not_to_run_does_not_count() -> None:
    late = {"lag_records": 5, "lag_seconds": 9e9}
    assert judged(Health.STOPPED, wanted=False, committed_at=ago(900)) is Minute.UNWANTED
    assert judged(Health.SCHEDULED, **late) is Minute.UNWANTED


@pytest.mark.parametrize("incident", [GATE, PARITY])
def test_a_check_that_found_rows_wrong_makes_every_minute_bad_until_it_passes(incident: Key) -> None:
    assert judged(incidents=frozenset({incident})) is Minute.INCORRECT
    assert judged(Health.UNKNOWN, incidents=frozenset({incident})) is Minute.INCORRECT
    assert judged(incidents=frozenset({incident}), counts="fresh") is Minute.GOOD


@pytest.mark.parametrize(
    "incident",
    [
        ("DAG backfill_board", AlertClass.GATE),
        ("DAG quality_sales", AlertClass.GATE),
        ("unit flights", AlertClass.HALTED),
    ],
)
def test_what_was_not_published_or_is_about_others_is_no_fault_of_it(incident: Key) -> None:
    assert judged(incidents=frozenset({incident})) is Minute.GOOD


def test_lost_and_repeated_records_are_incorrect_and_a_loss_that_only_threatens_is_not() -> None:
    assert judged(Health.REWOUND) is Minute.INCORRECT
    assert judged(Health.LOSS_RISK) is Minute.INCORRECT
    assert judged(Health.LOSS_RISK, loss_seconds=60.0) is Minute.GOOD
    assert judged(Health.REWOUND, counts="fresh") is Minute.GOOD


@pytest.mark.parametrize("retention", [None, timedelta(hours=1), timedelta(days=7)])
def test_records_that_were_deleted_unread_are_incorrect_whatever_the_topic_declares(
    retention: timedelta | None,
) -> None:
    window, rhythm = Window(), Rhythm(retention=retention)
    for at in (580, 590, 600, 900):
        seen = observed(at, [Done(570, 572, 6_000)], 9_000, starts={PARTITION: 6_500}, rhythm=rhythm)
        window = window.add(seen)
    found = judge(seen, window)
    assert (found.health, found.loss_seconds) == (Health.LOSS_RISK, 0.0)
    said = {name: getattr(found, name) for name in ("lag_records", "lag_seconds", "loss_seconds", "committed_at")}
    assert judged(found.health, **said) is Minute.INCORRECT


def test_a_stream_that_ended_because_records_are_gone_is_incorrect_until_it_is_started_again() -> None:
    assert judged(Health.STOPPED, has_lost=True) is Minute.INCORRECT
    assert judged(Health.STOPPED, has_lost=True, counts="correct") is Minute.INCORRECT
    assert judged(Health.STOPPED, has_lost=True, counts="fresh") is Minute.GOOD
    assert judged(Health.STOPPED, has_lost=True, wanted=False) is Minute.UNWANTED


@pytest.mark.parametrize("counts", ["both", "fresh", "correct"])
def test_what_nobody_observes_is_unknown(counts: Literal["both", "fresh", "correct"]) -> None:
    assert judged(Health.UNKNOWN, counts=counts) is Minute.UNKNOWN
