from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.alerts.alert import Level
from sluice.alerts.delivery import IN_FLIGHT, DeliveryOutcome, already_known, already_notified
from tests.unit.alerts.examples import NOW, history_of, make_alert

FIRST, SECOND = make_alert("a1"), make_alert("a2", task_id="verify")
SALES = make_alert("s1", dag_id="topic_drift", subject="topic sales")
FLIGHTS = make_alert("f1", dag_id="topic_drift", subject="topic flights")
OVER = make_alert("s2", dag_id="topic_drift", subject="topic sales", level=Level.RECOVERY, task_id=None)
WHOLE = make_alert("d1", level=Level.DAG, task_id=None)


def test_the_first_failure_of_a_run_calls() -> None:
    assert already_notified(FIRST, history_of(FIRST), NOW) is None


def test_a_second_failure_of_the_run_relies_on_the_first_ones_delivery() -> None:
    assert already_notified(SECOND, history_of(FIRST, SECOND, a1=DeliveryOutcome.DELIVERED), NOW) == FIRST


def test_a_second_failure_calls_if_nobody_heard_of_the_first() -> None:
    for outcome in (DeliveryOutcome.FAILED, DeliveryOutcome.WITHHELD):
        assert already_notified(SECOND, history_of(FIRST, SECOND, a1=outcome), NOW) is None


def test_where_nobody_is_configured_the_record_of_the_task_is_all_the_telling_there_is() -> None:
    for alert in (SECOND, WHOLE):
        assert already_notified(alert, history_of(FIRST, alert, a1=DeliveryOutcome.NOT_CONFIGURED), NOW) == FIRST


def test_of_two_that_fail_together_exactly_one_calls() -> None:
    both = history_of(FIRST, SECOND)
    assert already_notified(FIRST, both, NOW) is None
    assert already_notified(SECOND, both, NOW) == FIRST


def test_a_delivery_that_was_cut_off_is_relied_on_by_nobody() -> None:
    assert already_notified(SECOND, history_of(FIRST, SECOND), NOW + IN_FLIGHT) is None


def test_the_runs_own_alert_calls_unless_a_task_was_delivered() -> None:
    assert already_notified(WHOLE, history_of(FIRST, WHOLE, a1=DeliveryOutcome.DELIVERED), NOW) == FIRST
    assert already_notified(WHOLE, history_of(FIRST, WHOLE, a1=DeliveryOutcome.FAILED), NOW) is None
    assert already_notified(WHOLE, history_of(FIRST, WHOLE), NOW) is None
    assert already_notified(WHOLE, history_of(WHOLE), NOW) is None


def test_the_runs_own_alert_keeps_no_task_from_calling() -> None:
    assert already_notified(SECOND, history_of(WHOLE, SECOND, d1=DeliveryOutcome.DELIVERED), NOW) is None


def test_a_run_that_fails_again_after_it_was_cleared_calls_again() -> None:
    again = make_alert("a2", clearing=1)
    assert already_notified(again, history_of(FIRST, again, a1=DeliveryOutcome.DELIVERED), NOW) is None


def test_an_alert_that_never_got_onto_the_record_relies_on_what_is_there() -> None:
    assert already_notified(SECOND, history_of(FIRST), NOW) == FIRST


def test_an_alert_is_under_way_until_it_has_an_outcome_or_its_time_is_over() -> None:
    assert history_of(FIRST).in_flight(FIRST, NOW)
    assert not history_of(FIRST).in_flight(FIRST, NOW + timedelta(hours=1))
    assert not history_of(FIRST, a1=DeliveryOutcome.FAILED).in_flight(FIRST, NOW)


def test_tasks_about_different_subjects_call_each_for_itself() -> None:
    assert already_notified(FLIGHTS, history_of(SALES, FLIGHTS, s1=DeliveryOutcome.DELIVERED), NOW) is None
    again = make_alert("s3", dag_id="topic_drift", subject="topic sales")
    assert already_notified(again, history_of(SALES, again, s1=DeliveryOutcome.DELIVERED), NOW) == SALES


@pytest.mark.parametrize("outcome", sorted(DeliveryOutcome))
def test_a_state_that_was_told_or_is_told_by_the_clock_is_known(outcome: DeliveryOutcome) -> None:
    assert already_known(SALES, history_of(SALES, FLIGHTS, s1=outcome)) == SALES


def test_a_state_is_news_if_nobody_heard_of_it_or_it_is_another_one() -> None:
    other = make_alert("s3", dag_id="topic_drift", subject="topic sales", why="partitions is 3, declared 4.")

    assert already_known(SALES, history_of()) is None
    assert already_known(SALES, history_of(SALES)) is None
    assert already_known(other, history_of(SALES, s1=DeliveryOutcome.DELIVERED)) is None
    assert already_known(FLIGHTS, history_of(SALES, s1=DeliveryOutcome.DELIVERED)) is None


def test_a_state_that_was_over_in_between_is_news() -> None:
    assert (
        already_known(SALES, history_of(SALES, OVER, s1=DeliveryOutcome.DELIVERED, s2=DeliveryOutcome.DELIVERED))
        is None
    )


def test_what_lasts_is_the_newest_of_each_subject_without_those_that_are_over() -> None:
    newer = make_alert("f2", dag_id="topic_drift", subject="topic flights", why="something else")

    assert history_of(SALES, FLIGHTS, FIRST, newer).lasting("topic_drift") == {
        "topic sales": SALES,
        "topic flights": newer,
    }
    assert history_of(SALES, FLIGHTS, OVER).lasting("topic_drift") == {"topic flights": FLIGHTS}
    assert history_of(SALES).lasting("topics") == {}
