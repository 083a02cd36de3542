"""Channels that fail: each gets an alert until it has taken it, and no other gets it again."""

from __future__ import annotations

import pytest

from sluice.alerts.alert import Level
from sluice.alerts.delivery import DeliveryOutcome
from sluice.alerts.dispatch import AlertDispatcher
from tests.unit.airflow.alerts.alerting_airflow import Airflow
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
