"""What outlasts its file: open incidents, ends that are still to be sent, counts; and what displaces nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import Delivery, DeliveryOutcome
from sluice.alerts.incidents import Incident, ended_incidents, open_incidents
from sluice.alerts.journal import Journal
from sluice.alerts.runs import GRACE, RunCount, review, successes_before
from sluice.specs.model.alerting import AlertClass
from tests.unit.alerts.examples import NOW, make_alert

PARITY = make_alert("p1", alert_class=AlertClass.PARITY, dag_id="backfill_departures")
FILE_BYTES = 16_000


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, file_bytes=FILE_BYTES, files=3)


def delivered(alert: Alert, *reached: str, outcome: DeliveryOutcome = DeliveryOutcome.DELIVERED) -> Delivery:
    return Delivery(alert.id, alert.at, outcome, reached=reached)


def names() -> Iterator[str]:
    yield from (f"n{number:05}" for number in range(100_000))


NAMES = names()


def fill(journal: Journal, files: int = 4) -> None:
    """Record alerts about what happens once, in so many files."""
    for _ in range(files * FILE_BYTES // 500):
        journal.append(make_alert(next(NAMES), alert_class=AlertClass.TEST))


def parity(journal: Journal) -> Incident:
    return open_incidents(journal.read())[PARITY.key]


def test_an_open_incident_outlasts_its_file_with_what_was_delivered(journal: Journal) -> None:
    journal.append(PARITY)
    journal.append(delivered(PARITY, outcome=DeliveryOutcome.FAILED))
    journal.append(delivered(PARITY, "smtp ada@example.org"))
    before = parity(journal)
    for _ in range(3):
        fill(journal)
        after = parity(journal)
        assert after.alerts == before.alerts
        assert after.deliveries[PARITY.id] == before.deliveries[PARITY.id]
        assert after.reached == {"smtp ada@example.org"}
    assert len(list(journal.folder.glob("*.jsonl"))) == 3
    end = replace(PARITY, id="p2", level=Level.RECOVERY)
    journal.append(end)
    journal.append(delivered(end, "smtp ada@example.org"))
    assert PARITY.key not in open_incidents(journal.read())
    fill(journal)
    assert PARITY.id not in {alert.id for alert in journal.read().alerts}, "nobody needs it any more"


def test_what_is_carried_is_older_than_what_came_later(journal: Journal) -> None:
    journal.append(PARITY)
    fill(journal, 1)
    reminder = replace(PARITY, id="p2", at=NOW + timedelta(days=1))
    journal.append(reminder)
    for _ in range(150):
        journal.append(make_alert(next(NAMES), alert_class=AlertClass.TEST))
        assert parity(journal).alerts == (PARITY, reminder)


def test_of_an_incident_what_says_who_has_it_is_carried_and_the_rest_is_not(journal: Journal) -> None:
    alerts = [replace(PARITY, id=f"p{number}", at=NOW + timedelta(hours=number)) for number in range(10)]
    for number, alert in enumerate(alerts):
        journal.append(alert)
        journal.append(delivered(alert, "hook" if number < 3 else "smtp", outcome=DeliveryOutcome.FAILED))
    fill(journal)
    incident = parity(journal)
    assert [alert.id for alert in incident.alerts] == ["p0", "p2", "p9"]
    assert incident.reached == {"hook", "smtp"}
    assert incident.since == NOW


def test_an_end_that_is_still_to_be_sent_outlasts_its_file_and_another_does_not(journal: Journal) -> None:
    end = replace(PARITY, id="p2", level=Level.RECOVERY)
    journal.append(PARITY)
    journal.append(delivered(PARITY, "hook"))
    journal.append(end)
    journal.append(delivered(end, outcome=DeliveryOutcome.FAILED))
    fill(journal)
    incident = ended_incidents(journal.read())[PARITY.key]
    assert (incident.end, incident.reached) == (end, {"hook"})
    journal.append(delivered(end, "hook"))
    fill(journal)
    assert ended_incidents(journal.read()) == {}


def test_a_process_that_dies_before_it_removes_the_file_leaves_nothing_twice(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append(PARITY)
    journal.append(delivered(PARITY, "hook"))
    fill(journal, 2)

    def killed(*_: object, **__: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(SystemExit):
            fill(journal, 3)
    assert parity(journal).alerts == (PARITY,)
    fill(journal)
    assert parity(journal).alerts == (PARITY,)
    assert parity(journal).reached == {"hook"}


def test_more_than_half_a_file_of_open_incidents_is_not_carried_and_the_newest_are(journal: Journal) -> None:
    many = [make_alert(f"d{n:03}", subject=f"topic t{n:03}", alert_class=AlertClass.DRIFT) for n in range(25)]
    for alert in many:
        journal.append(alert)
        journal.append(delivered(alert, "hook"))
    fill(journal, 12)
    kept = [key for key in open_incidents(journal.read()) if key[1] is AlertClass.DRIFT]
    assert kept == [alert.key for alert in many[-len(kept) :]]
    assert 5 < len(kept) < 25
    assert all(f"d{n:03}" in journal.read().deliveries for n in range(25 - len(kept), 25))
    assert sum(file.stat().st_size for file in journal.folder.glob("*.jsonl")) < 4 * FILE_BYTES


def test_the_count_by_which_a_success_ends_an_alert_outlasts_its_file(journal: Journal) -> None:
    journal.append(PARITY)
    journal.append(RunCount(PARITY.dag_id, NOW, succeeded=7, failed=1, accounted=1, open_alerts=(PARITY.id,)))
    for succeeded in (9, 8):
        journal.append(RunCount(PARITY.dag_id, NOW, succeeded, 1, 1, open_alerts=(PARITY.id,)))
    fill(journal)
    counts = journal.read().counts[PARITY.dag_id]
    assert [count.succeeded for count in counts] == [7, 8]
    assert successes_before(PARITY, counts) == 7


def fails_each_minute(journal: Journal, why: str, outcome: DeliveryOutcome) -> Alert:
    """Record the alerts of a DAG whose runs fail, each counted once, and return the first of them."""
    first = make_alert("r00000", dag_id="reconcile_streams", run_id="r0", why=why.format(0))
    journal.append(first)
    journal.append(delivered(first, "hook"))
    for number in range(1, 600):
        now = NOW + timedelta(minutes=number)
        again = replace(first, id=f"r{number:05}", at=now, run_id=f"r{number}", why=why.format(number))
        journal.append(again)
        journal.append(delivered(again, outcome=outcome))
        history = journal.read()
        count = RunCount("reconcile_streams", now, succeeded=0, failed=number + 1, open_alerts=(again.id,))
        reviewed = review(history.counts.get("reconcile_streams", ()), history.about_runs("reconcile_streams"), count)
        assert reviewed.unreported == 0
        if reviewed.record is not None:
            assert reviewed.record.unexplained_since is None, number
            journal.append(reviewed.record)
    return first


def test_a_dag_that_fails_each_minute_displaces_nothing_and_each_of_its_runs_is_accounted_for(journal: Journal) -> None:
    once = make_alert("once", alert_class=AlertClass.TEST)
    journal.append(once)
    first = fails_each_minute(journal, "the control database is gone", DeliveryOutcome.WITHHELD)
    history = journal.read()
    assert once in history.alerts
    incident = open_incidents(history)[first.key]
    assert (incident.alerts[0], incident.newest.id, incident.reached) == (first, "r00599", {"hook"})
    assert len(incident.alerts) < 100
    (note,) = history.notes
    assert note.startswith(f"{601 - len(history.alerts)} older alerts")


def test_runs_that_fail_for_other_reasons_are_accounted_for_when_their_file_is_removed(journal: Journal) -> None:
    first = fails_each_minute(journal, "it has failed {} times", DeliveryOutcome.DELIVERED)
    assert open_incidents(journal.read())[first.key].alerts[0] == first
    assert len(journal.read().alerts) < 100


def test_a_run_that_no_alert_names_is_noticed_though_repetitions_were_left_out(journal: Journal) -> None:
    first = make_alert("r00000", dag_id="topics", run_id="r0")
    journal.append(first)
    journal.append(delivered(first, "hook"))
    for number in range(1, 200):
        now = NOW + timedelta(minutes=number)
        again = replace(first, id=f"r{number:05}", at=now, run_id=f"r{number}")
        journal.append(again)
        journal.append(delivered(again, outcome=DeliveryOutcome.WITHHELD))
        journal.append(RunCount("topics", now, failed=number + 1, accounted=len(journal.read().about_runs("topics"))))
    later = NOW + timedelta(minutes=201)
    for minutes in (0, GRACE.total_seconds() // 60):
        history = journal.read()
        count = RunCount("topics", later + timedelta(minutes=minutes), failed=201)
        reviewed = review(history.counts["topics"], history.about_runs("topics"), count)
        assert reviewed.record is not None
        journal.append(reviewed.record)
    assert reviewed.unreported == 1
