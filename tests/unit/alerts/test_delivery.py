from __future__ import annotations

from datetime import timedelta

from sluice.alerts.alert import Level
from sluice.alerts.delivery import IN_FLIGHT, Outcome, already_called
from tests.unit.alerts.examples import NOW, history_of, make_alert

FIRST, SECOND = make_alert("a1"), make_alert("a2", task_id="verify")
WHOLE = make_alert("d1", level=Level.DAG, task_id=None)


def test_the_first_failure_of_a_run_calls() -> None:
    assert already_called(FIRST, history_of(FIRST), NOW) is None


def test_a_second_failure_of_the_run_relies_on_the_first_ones_delivery() -> None:
    assert already_called(SECOND, history_of(FIRST, SECOND, a1=Outcome.DELIVERED), NOW) == FIRST


def test_a_second_failure_calls_if_nobody_heard_of_the_first() -> None:
    for outcome in (Outcome.FAILED, Outcome.NOT_CONFIGURED, Outcome.WITHHELD):
        assert already_called(SECOND, history_of(FIRST, SECOND, a1=outcome), NOW) is None


def test_of_two_that_fail_together_exactly_one_calls() -> None:
    both = history_of(FIRST, SECOND)
    assert already_called(FIRST, both, NOW) is None
    assert already_called(SECOND, both, NOW) == FIRST


def test_a_delivery_that_was_cut_off_is_relied_on_by_nobody() -> None:
    assert already_called(SECOND, history_of(FIRST, SECOND), NOW + IN_FLIGHT) is None


def test_the_runs_own_alert_calls_unless_a_task_was_delivered() -> None:
    assert already_called(WHOLE, history_of(FIRST, WHOLE, a1=Outcome.DELIVERED), NOW) == FIRST
    assert already_called(WHOLE, history_of(FIRST, WHOLE, a1=Outcome.FAILED), NOW) is None
    assert already_called(WHOLE, history_of(FIRST, WHOLE), NOW) is None
    assert already_called(WHOLE, history_of(WHOLE), NOW) is None


def test_the_runs_own_alert_keeps_no_task_from_calling() -> None:
    assert already_called(SECOND, history_of(WHOLE, SECOND, d1=Outcome.DELIVERED), NOW) is None


def test_a_run_that_fails_again_after_it_was_cleared_calls_again() -> None:
    again = make_alert("a2", clearing=1)
    assert already_called(again, history_of(FIRST, again, a1=Outcome.DELIVERED), NOW) is None


def test_an_alert_that_never_got_onto_the_record_relies_on_what_is_there() -> None:
    assert already_called(SECOND, history_of(FIRST), NOW) == FIRST


def test_an_alert_is_under_way_until_it_has_an_outcome_or_its_time_is_over() -> None:
    assert history_of(FIRST).in_flight(FIRST, NOW)
    assert not history_of(FIRST).in_flight(FIRST, NOW + timedelta(hours=1))
    assert not history_of(FIRST, a1=Outcome.FAILED).in_flight(FIRST, NOW)
