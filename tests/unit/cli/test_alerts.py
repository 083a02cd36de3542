from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluice.alerts.delivery import Delivery, DeliveryOutcome
from sluice.alerts.journal import Journal
from sluice.cli.alerts import app, find_alert
from sluice.errors import NotReadyError, SpecError
from tests.unit.alerts.examples import NOW, history_of, make_alert


@pytest.fixture(autouse=True)
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    return Journal(tmp_path / "alerts")


def sluice_alerts(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_alerts_are_listed_newest_first_with_what_became_of_them(journal: Journal) -> None:
    for record in (
        make_alert("aaaa"),
        Delivery("aaaa", NOW, DeliveryOutcome.DELIVERED, "delivered to JSON."),
        make_alert("bbbb", at=NOW + timedelta(minutes=1)),
    ):
        journal.append(record)

    listed = json.loads(sluice_alerts("--output", "json"))["alerts"]
    assert [(alert["id"], (alert["delivery"] or {}).get("outcome")) for alert in listed] == [
        ("bbbb", None),
        ("aaaa", "delivered"),
    ]
    table = sluice_alerts()
    assert table.index("bbbb") < table.index("aaaa")
    assert "unknown" in table


def test_no_more_than_asked_for_are_listed(journal: Journal) -> None:
    for name in ("aaaa", "bbbb", "cccc"):
        journal.append(make_alert(name))

    listed = json.loads(sluice_alerts("-n", "2", "-o", "json"))["alerts"]
    assert [alert["id"] for alert in listed] == ["cccc", "bbbb"]


def test_markup_in_an_error_is_shown_and_not_obeyed(journal: Journal) -> None:
    journal.append(make_alert("aaaa", why="[/red] oops"))

    assert "[/red]" in sluice_alerts()
    assert "[/red] oops" in sluice_alerts("show", "aaaa")


def test_one_alert_is_shown_with_everything(journal: Journal) -> None:
    alert = make_alert("abcd")
    journal.append(alert)
    journal.append(Delivery("abcd", NOW, DeliveryOutcome.FAILED, "delivery failed: JSON: error=500"))

    shown = sluice_alerts("show", "ab")
    assert alert.text() in shown
    assert "Delivery: failed: delivery failed: JSON: error=500" in shown
    assert json.loads(sluice_alerts("show", "abcd", "-o", "json"))["delivery"]["outcome"] == "failed"


def test_without_alerts_it_says_so() -> None:
    assert sluice_alerts() == "No alerts.\n"


@pytest.mark.parametrize(
    ("wanted", "told"), [("c", "No alert begins with 'c'"), ("a", "2 alerts begin with 'a'"), ("", "No alert")]
)
def test_an_id_that_names_no_one_alert_is_refused(wanted: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        find_alert(history_of(make_alert("a1"), make_alert("a2")), wanted)


def test_a_trial_without_airflow_is_on_record_and_says_what_is_missing(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW_HOME", raising=False)

    with pytest.raises(NotReadyError, match="is only in the journal: there is no Airflow"):
        CliRunner().invoke(app, ["test"], catch_exceptions=False)

    (alert,) = journal.read().alerts
    assert journal.read().deliveries[alert.id].outcome is DeliveryOutcome.NOT_CONFIGURED
