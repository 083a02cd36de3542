"""What ends an alert, for every class and every verdict."""

from __future__ import annotations

from itertools import product

import pytest

from sluice.alerts.conditions import ABOUT_STREAMS, ABOUT_UNITS, ends
from sluice.specs.model.alerting import AlertClass
from sluice.streams.health.health import Health
from sluice.streams.health.verdict import Verdict

OURS = ABOUT_STREAMS | ABOUT_UNITS
WORKS = {Health.OK, Health.IDLE, Health.SCHEDULED, Health.LAGGING}


@pytest.mark.parametrize(("alert_class", "health", "wanted"), list(product(AlertClass, Health, [True, False])))
def test_only_evidence_of_health_or_a_stop_that_is_done_ends_an_alert(
    alert_class: AlertClass, health: Health, wanted: bool
) -> None:
    stopped = health is Health.STOPPED and not wanted
    expected = alert_class in OURS and (health in WORKS or stopped)
    assert ends(alert_class, Verdict(health, ""), wanted=wanted) is expected


@pytest.mark.parametrize(("alert_class", "wanted"), list(product(AlertClass, [True, False])))
def test_what_is_unknown_ends_no_alert(alert_class: AlertClass, wanted: bool) -> None:
    assert not ends(alert_class, Verdict(Health.UNKNOWN, ""), wanted=wanted)


def test_no_verdict_ends_the_alert_that_it_makes() -> None:
    for health in Health:
        if health.value.lower().replace("_", "-") in {each.value for each in OURS}:
            assert not ends(AlertClass(health.value.lower().replace("_", "-")), Verdict(health, ""), wanted=True)


@pytest.mark.parametrize("alert_class", AlertClass)
def test_a_stream_that_is_behind_ends_no_risk_of_loss_as_long_as_a_loss_is_in_sight(alert_class: AlertClass) -> None:
    behind = Verdict(Health.LAGGING, "", loss_seconds=86_400.0)
    assert ends(alert_class, behind, wanted=True) is (alert_class in OURS - {AlertClass.LOSS_RISK})
