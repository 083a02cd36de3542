"""Channels that fail: each gets an alert until it has taken it, and no other gets it again."""

from __future__ import annotations

from sluice.alerts.delivery import DeliveryOutcome
from tests.unit.airflow.alerts.alerting_airflow import Airflow
from tests.unit.airflow.alerts.channels import ADA, BOB, Channels, policy_of


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
