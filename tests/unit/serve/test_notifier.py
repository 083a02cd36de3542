"""Data alerts: what they say, in which order, and what is known of them after a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import AlertHistory, DeliveryOutcome
from sluice.alerts.dispatch import AlertDispatcher
from sluice.alerts.incidents import open_incidents, recorded_by_another
from sluice.alerts.journal import Journal
from sluice.live.rules import RuleEvent, Transition
from sluice.live.values import Value
from sluice.serve.notifier import MAX_PAYLOAD_BYTES, AlertNotifier, alert_of
from sluice.specs.model.alerting import AlertClass
from tests.twins.clock import START, ManualClock
from tests.unit.serve.conftest import RULE, with_rules

PIPELINE = with_rules(RULE, {**RULE, "name": "long"})
(LONG_DELAYS, LONG) = PIPELINE.alerts
VALUE = Value(("2013-01-01T05:00:00Z", "JFK"), {"origin": "JFK", "delay_max_min": 75.5}, START, 7)
HOLDS = RuleEvent(LONG_DELAYS, Transition.FIRING, VALUE.key, VALUE, START)
OVER = replace(HOLDS, transition=Transition.RESOLVED)
PAGE = "http://serve/departures/departures_live"


def recording_in(journal: Journal, clock: ManualClock) -> AlertDispatcher:
    """Return a dispatcher without Airflow that records in a journal."""
    dispatcher = AlertDispatcher(clock)
    dispatcher.journal = journal
    return dispatcher


def test_an_alert_says_what_why_where_and_what_to_do() -> None:
    alert = alert_of(PIPELINE, HOLDS, PAGE, ManualClock())
    assert alert.what == "departures: long_delays holds for 2013-01-01T05:00:00Z, JFK"
    assert alert.why == "Delay_max_min is 75.5."
    assert "the rule: delay_max_min is above 60" in alert.evidence
    assert "the row: origin JFK, delay_max_min 75.5" in alert.evidence
    assert (alert.where, alert.owner) == (PAGE, "flight-operations")
    assert alert.what_to_do == "ask its owner, flight-operations."
    assert alert.key == ('pipeline departures, alert long_delays ["2013-01-01T05:00:00Z", "JFK"]', AlertClass.DATA)
    assert alert_of(PIPELINE, OVER, PAGE, ManualClock()).level is Level.RECOVERY


def test_what_a_spec_says_is_to_be_done_is_said() -> None:
    rule = LONG_DELAYS.model_copy(update={"message": "Call the tower."})
    assert alert_of(PIPELINE, replace(HOLDS, rule=rule), PAGE, ManualClock()).what_to_do == "Call the tower."


def test_programs_get_the_row_or_the_columns_that_the_rule_names() -> None:
    value = replace(VALUE, fields={**VALUE.fields, "share": float("nan"), "routes": [{"to": "LAX"}]})
    holds = replace(HOLDS, value=value)
    alert = alert_of(PIPELINE, holds, PAGE, ManualClock())
    assert alert.row == {"origin": "JFK", "delay_max_min": 75.5, "share": None, "routes": [{"to": "LAX"}]}
    assert Alert.from_dict(alert.as_dict()) == alert

    rule = LONG_DELAYS.model_copy(update={"payload": ("origin", "carrier")})
    named = alert_of(PIPELINE, replace(holds, rule=rule), PAGE, ManualClock())
    assert named.row == {"origin": "JFK", "carrier": None}
    assert named.evidence[-1].startswith("there is no column 'carrier' in ")


def test_a_row_that_the_journal_has_no_room_for_is_not_sent_to_programs() -> None:
    value = replace(VALUE, fields={**VALUE.fields, "text": "x" * MAX_PAYLOAD_BYTES})
    alert = alert_of(PIPELINE, replace(HOLDS, value=value), PAGE, ManualClock())
    assert alert.row is None
    assert "8,000 are sent; name columns in `payload`" in alert.evidence[-1]


def test_an_end_without_a_value_has_no_row() -> None:
    assert alert_of(PIPELINE, replace(OVER, value=None), PAGE, ManualClock()).row is None


def test_more_keys_and_their_end_are_one_subject() -> None:
    more = RuleEvent(LONG_DELAYS, Transition.RATE_LIMITED, (), None, START)
    begun, over = (
        alert_of(PIPELINE, each, PAGE, ManualClock()) for each in (more, replace(more, transition=Transition.RESOLVED))
    )
    assert begun.key == over.key
    assert "more keys than alert one by one" in begun.what


def test_each_is_told_in_its_order_and_what_is_open_is_known_after_a_restart(tmp_path: Path) -> None:
    clock = ManualClock()
    journal = Journal(tmp_path)
    dispatcher = recording_in(journal, clock)
    notifier = AlertNotifier(lambda: dispatcher, lambda _pipeline, _output: PAGE, clock)
    other = replace(HOLDS, rule=LONG)
    for event in (HOLDS, OVER, HOLDS, OVER, HOLDS, other):
        notifier.notify(PIPELINE, event)
    notifier.stop()
    history = journal.read()
    mine = [alert.level for alert in history.alerts if "long_delays" in alert.subject]
    assert mine == [Level.STATE, Level.RECOVERY] * 2 + [Level.STATE]
    assert {delivery.outcome for delivery in history.deliveries.values()} == {DeliveryOutcome.NOT_CONFIGURED}
    assert len(open_incidents(history)) == 2

    known = AlertNotifier(lambda: dispatcher, lambda _pipeline, _output: PAGE, clock).known(PIPELINE)
    assert known == {"long_delays": [VALUE.key], "long": [VALUE.key]}


def test_the_alert_that_keys_share_is_known_after_a_restart_and_a_torn_subject_is_not(tmp_path: Path) -> None:
    clock = ManualClock()
    dispatcher = recording_in(Journal(tmp_path), clock)
    more = alert_of(PIPELINE, RuleEvent(LONG_DELAYS, Transition.RATE_LIMITED, (), None, START), PAGE, clock)
    for subject in (more.subject, f"{more.subject}]", more.subject.replace("[]", "7")):
        dispatcher.notify(replace(more, id=subject, subject=subject))
    notifier = AlertNotifier(lambda: dispatcher, lambda _pipeline, _output: PAGE, clock)
    assert notifier.known(PIPELINE) == {"long_delays": [()]}
    notifier.stop()


def test_of_the_alert_that_keys_share_what_comes_late_is_told_from_what_is_new() -> None:
    def shared(minutes: int, *, over: bool = False) -> Alert:
        transition = Transition.RESOLVED if over else Transition.RATE_LIMITED
        event = RuleEvent(LONG_DELAYS, transition, (), None, START + timedelta(minutes=minutes))
        return alert_of(PIPELINE, event, PAGE, ManualClock())

    told = AlertHistory((shared(0), shared(5, over=True)))
    assert recorded_by_another(shared(1), told)
    assert not recorded_by_another(shared(6), told)


def turn(number: int) -> Alert:
    """Return the alert of the record with this number: every other one ends what the one before began."""
    value = replace(VALUE, at=START + timedelta(seconds=number))
    event = replace(HOLDS if number % 2 == 0 else OVER, value=value)
    return alert_of(PIPELINE, event, PAGE, ManualClock())


def test_two_processes_that_serve_the_same_tell_once(tmp_path: Path) -> None:
    clock, journal = ManualClock(), Journal(tmp_path)
    notifiers = [AlertNotifier(lambda: recording_in(journal, clock), lambda *_: PAGE, clock) for _ in range(2)]
    for event in (HOLDS, replace(OVER, value=replace(VALUE, at=START + timedelta(seconds=1)))):
        for notifier in notifiers:
            notifier.notify(PIPELINE, event)
    for notifier in notifiers:
        notifier.stop()
    assert [alert.level for alert in journal.read().alerts] == [Level.STATE, Level.RECOVERY]


@given(turns=st.integers(1, 6), late=st.lists(st.integers(0, 5), max_size=6))
def test_however_far_one_of_them_is_behind_each_turn_is_told_once(turns: int, late: Sequence[int]) -> None:
    record: list[Alert] = []

    def sees(number: int) -> None:
        alert = turn(number)
        if not recorded_by_another(alert, AlertHistory(tuple(record))):
            record.append(alert)

    behind = 0
    for number in range(turns):
        sees(number)
        for _ in range(late[number] if number < len(late) else 0):
            if behind <= number:
                sees(behind)
                behind += 1
    for number in range(behind, turns):
        sees(number)
    assert [alert.since for alert in record] == [turn(number).since for number in range(turns)]
