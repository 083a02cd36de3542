"""An alert leads to the section of the runbook that is about it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sluice.alerts.policy import Policy, section_of
from sluice.specs.model.alerting import AlertClass
from tests.unit.alerts.examples import make_alert

RUNBOOK = Path(__file__).parents[3] / "docs" / "runbook.md"


@pytest.mark.parametrize("subject", ["stream departures", "mirror standby"])
@pytest.mark.parametrize("alert_class", AlertClass)
def test_every_alert_has_its_section_in_the_runbook(alert_class: AlertClass, subject: str) -> None:
    headings = re.findall(r"^## (.+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    section = section_of(make_alert(alert_class=alert_class, subject=subject))
    assert section in {heading.lower().replace(" ", "-") for heading in headings}


def test_a_missed_deadline_and_a_mirror_have_sections_of_their_own() -> None:
    missed = make_alert(alert_class=AlertClass.DEADLINE, subject="stream departures, deadline idle")
    mirror = make_alert(alert_class=AlertClass.REWOUND, subject="mirror standby")
    assert [Policy().complete(alert).runbook for alert in (missed, mirror)] == [
        "sluice docs runbook#missed-deadline",
        "sluice docs runbook#mirror",
    ]


def test_a_failed_run_of_a_mirrors_dag_is_a_failed_run() -> None:
    assert section_of(make_alert(dag_id="mirror_standby")) == "failed-run"
