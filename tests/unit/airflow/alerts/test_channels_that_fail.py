"""Channels that fail: each gets an alert until it has taken it, and no other gets it again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.airflow.alerts import alerting
from sluice.alerts.alert import Level
from sluice.alerts.delivery import DeliveryOutcome
from sluice.alerts.dispatch import AlertDispatcher
from tests.unit.airflow.alerts.alerting_airflow import Airflow, Task, TaskInstance
from tests.unit.airflow.alerts.channels import ADA, BOB, HOOK, Channels, policy_of


def test_of_two_channels_over_one_connection_only_the_one_that_failed_is_tried_again(airflow: Airflow) -> None:
    channels = Channels(airflow, policy_of(ADA, BOB))
    channels.breaks(BOB)

    assert channels.begins("a1").outcome is DeliveryOutcome.FAILED
    assert (channels.took(ADA), channels.took(BOB)) == (["a1"], ["a1"])
    channels.rounds(6)
    assert (channels.took(ADA), channels.took(BOB)) == ([], ["a1"])
    assert channels.dispatcher().read().deliveries["a1"].outcome is DeliveryOutcome.FAILED

    channels.breaks(BOB, "")
    channels.rounds(6)
    assert (channels.took(ADA), channels.took(BOB)) == ([], ["a1"])
    delivery = channels.dispatcher().read().deliveries["a1"]
    assert (delivery.outcome, set(delivery.reached)) == (DeliveryOutcome.DELIVERED, {ADA.identity, BOB.identity})
    channels.rounds(6)
    assert (channels.took(ADA), channels.took(BOB)) == ([], [])


def test_an_end_is_sent_until_it_was_taken_under_its_own_id(airflow: Airflow) -> None:
    channels = Channels(airflow, policy_of(HOOK, ADA))
    channels.begins("a1")
    channels.breaks(HOOK, "503")
    assert channels.ends("a2").outcome is DeliveryOutcome.FAILED
    assert (channels.took(HOOK), channels.took(ADA)) == (["a1", "a2"], ["a1", "a2"])

    channels.rounds(11)
    assert (channels.took(HOOK), channels.took(ADA)) == (["a2", "a2"], [])
    channels.breaks(HOOK, "")
    channels.rounds(11)
    assert (channels.took(HOOK), channels.took(ADA)) == (["a2"], [])
    assert channels.dispatcher().read().deliveries["a2"].outcome is DeliveryOutcome.DELIVERED


def test_an_end_whose_sender_was_killed_is_sent_by_the_next_round(
    airflow: Airflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels = Channels(airflow, policy_of(HOOK))
    channels.begins("b1")
    channels.took(HOOK)

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(AlertDispatcher, "dispatch_end", killed)
        with pytest.raises(SystemExit):
            channels.ends("b2")
    channels.rounds(2)
    assert channels.took(HOOK) == ["b2"]


def test_the_end_of_what_nobody_was_told_of_is_not_sent_by_a_round_either(airflow: Airflow) -> None:
    channels = Channels(airflow, policy_of(HOOK))
    dispatcher = channels.dispatcher()
    dispatcher.enter(channels.drift("a1"))
    dispatcher.enter(channels.drift("a2", level=Level.RECOVERY))
    channels.rounds(20)
    assert channels.took(HOOK) == []
    assert dispatcher.read().deliveries["a2"].outcome is DeliveryOutcome.WITHHELD


def test_an_end_is_withheld_if_its_subject_has_begun_again_meanwhile(airflow: Airflow) -> None:
    channels = Channels(airflow, policy_of(HOOK))
    channels.begins("a1")
    channels.breaks(HOOK, "503")
    channels.ends("a2")
    before = channels.dispatcher().read()
    channels.breaks(HOOK, "")
    channels.begins("a3")
    channels.took(HOOK)

    (end,) = [alert for alert in before.alerts if alert.id == "a2"]
    assert channels.dispatcher().dispatch_again(end, before).outcome is DeliveryOutcome.WITHHELD
    assert channels.took(HOOK) == []


@pytest.fixture
def channels(airflow: Airflow, monkeypatch: pytest.MonkeyPatch) -> Channels:
    """Two channels that callbacks and rounds use; the second one fails."""
    channels = Channels(airflow, policy_of(HOOK, ADA))
    channels.breaks(ADA)
    monkeypatch.setattr(alerting, "airflow_dispatcher", lambda *_: channels.dispatcher())
    return channels


class DriftTask(Task):
    """A task about a lasting state."""

    alert_subject = "topic t1"


def drift_is_found(airflow: Airflow, run: str, why: str = "partitions is 1, declared 2") -> None:
    airflow.task_callback(TaskInstance(run, "topic_drift", "report", task=DriftTask()), ValueError(why))


def test_a_state_that_each_round_finds_is_one_alert_though_a_channel_is_down(channels: Channels) -> None:
    for run in range(4):
        drift_is_found(channels.airflow, f"r{run}")
        channels.rounds(15)
    (first, *others) = channels.took(HOOK)
    assert others == []
    assert set(channels.took(ADA)) == {first}
    assert [alert.id for alert in channels.dispatcher().read().alerts] == [first]

    channels.breaks(ADA, "")
    channels.rounds(6)
    drift_is_found(channels.airflow, "r4")
    channels.rounds(6)
    assert (channels.took(HOOK), channels.took(ADA)) == ([], [first])
    drift_is_found(channels.airflow, "r5", "partitions is 3, declared 4")
    assert (len(channels.took(HOOK)), len(channels.took(ADA))) == (1, 1), "this is news"


def test_the_deaths_of_a_unit_are_one_alert_though_a_channel_is_down(channels: Channels) -> None:
    channels.airflow.twin.streams.life("flights").start("ada", "launch")
    for run in range(3):
        watch = TaskInstance(f"r{run}", "stream_flights", "watch")
        channels.airflow.task_callback(watch, ValueError(f"generation {run} died"))
        channels.rounds(3)
    (first, *others) = channels.took(HOOK)
    assert others == []
    assert set(channels.took(ADA)) == {first}


def test_an_end_goes_to_the_channels_that_have_the_beginning_and_to_no_other(channels: Channels) -> None:
    channels.begins("a1")
    channels.breaks(ADA, "")
    assert channels.ends("a2").outcome is DeliveryOutcome.DELIVERED
    channels.rounds(10)
    assert (channels.took(HOOK), channels.took(ADA)) == (["a1", "a2"], ["a1"])


def test_an_end_goes_to_whoever_has_any_alert_of_its_incident(channels: Channels) -> None:
    channels.begins("a1")
    channels.breaks(ADA, "")
    channels.breaks(HOOK, "503")
    channels.dispatcher().notify(channels.drift("a2", why="partitions is 3, declared 4"))
    channels.breaks(HOOK, "")
    assert channels.ends("a3").outcome is DeliveryOutcome.DELIVERED
    assert (channels.took(HOOK), channels.took(ADA)) == (["a1", "a2", "a3"], ["a1", "a2", "a3"])


def test_an_end_follows_a_beginning_whose_rule_or_channel_has_changed_since(channels: Channels) -> None:
    channels.begins("a1")
    channels.policy = channels.policy.model_copy(update={"rules": policy_of(HOOK, ADA, notify=("c1",)).rules})
    assert channels.ends("a2").outcome is DeliveryOutcome.DELIVERED
    assert (channels.took(HOOK), channels.took(ADA)) == (["a1", "a2"], ["a1"])
    channels.policy = policy_of(HOOK)
    channels.begins("b1")
    channels.policy = policy_of(BOB)
    assert channels.ends("b2").outcome is DeliveryOutcome.DELIVERED
    assert (channels.took(HOOK), channels.took(BOB)) == (["b1"], ["b2"]), "the policy has the first one no more"


@pytest.mark.parametrize("rule", [{"resolve": False}, {"notify": ()}])
def test_an_end_that_the_policy_does_not_send_goes_to_no_channel(channels: Channels, rule: dict[str, object]) -> None:
    channels.begins("a1")
    channels.policy = channels.policy.model_copy(update={"rules": policy_of(HOOK, ADA, **rule).rules})
    assert channels.ends("a2").outcome is DeliveryOutcome.MUTED
    channels.rounds(10)
    assert (channels.took(HOOK), channels.took(ADA)) == (["a1"], ["a1"])


def test_an_alert_is_sent_at_the_time_until_which_it_was_held(airflow: Airflow) -> None:
    channels = Channels(airflow, policy_of(HOOK, after="15 min"))
    began = airflow.twin.clock.now()
    airflow.twin.clock.sleep(600)
    held = channels.dispatcher().notify(channels.drift("a1", since=began))
    assert held.outcome is DeliveryOutcome.HELD
    assert f"held until {began + timedelta(minutes=15):%Y-%m-%d %H:%M:%S} UTC" in held.detail
    channels.rounds(4)
    assert channels.took(HOOK) == []
    channels.rounds()
    assert channels.took(HOOK) == ["a1"]
