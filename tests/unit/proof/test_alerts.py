"""Alerts that come while a proof runs: about the proof, about others, and what is no alert about a problem."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sluice.alerts.alert import Alert, Level
from sluice.alerts.journal import Journal
from sluice.project.project import Project
from sluice.proof.running.alerts import MeanwhileAlerts
from sluice.proof.running.place import ProofPlace
from sluice.settings import Settings, settings
from sluice.specs.model.alerting import AlertClass

ALERT = Alert(
    "1",
    datetime(2026, 1, 1, tzinfo=UTC),
    Level.STATE,
    "Topic prove_1234_news is not declared",
    "it has no spec",
    (),
    "",
    "remove it",
    subject="topic prove_1234_news",
    alert_class=AlertClass.DRIFT,
)


def test_only_what_names_the_proof_and_came_since_it_began_is_a_false_alert(tmp_path: Path) -> None:
    project = Project.open_strict(Settings(home=settings().home, state=tmp_path))
    place = ProofPlace(
        tmp_path / "proofs/1234", {"flights": "prove_1234_flights"}, "departures", {"news": "prove_1234_news"}
    )
    alerts = MeanwhileAlerts(project, place)
    assert (alerts.about_the_proof(), alerts.about_others()) == (frozenset(), ())
    journal, now = Journal(project.folder.alerts), datetime.now(UTC)
    about_it = replace(ALERT, at=now)
    other = replace(
        about_it, id="2", subject="stream board", what="Stream board is STALLED", alert_class=AlertClass.STALLED
    )
    for alert in (
        replace(ALERT, id="0", at=now - timedelta(hours=1), what="prove_1234_news, earlier"),
        about_it,
        replace(about_it, id="3", level=Level.RECOVERY),
        replace(other, id="4", level=Level.TEST),
        other,
    ):
        journal.append(alert)
    assert alerts.about_the_proof() == {"drift: Topic prove_1234_news is not declared"}
    assert alerts.about_others() == ("stalled: Stream board is STALLED",)
