"""A policy in force: alerts, and their ends, reach a real mail server and a real HTTP service when it says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from airflow.sdk import DagRunState

from sluice.airflow import runtime
from sluice.airflow.alerts.alert_round import alert_round
from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.dags.reconciler import build_reconcile_dag
from sluice.alerts.alert import Level
from sluice.alerts.delivery import DeliveryOutcome
from sluice.alerts.incidents import open_incidents
from sluice.alerts.journal import Journal
from sluice.errors import UnreachableError
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.load import load_catalog
from sluice.specs.model.alerting import AlertClass
from sluice.streams.health.health import Health
from sluice.streams.health.recording import NewVerdict
from sluice.streams.health.snapshots import Rates, StreamSnapshot
from sluice.streams.health.verdict import Verdict
from tests.integration.mailbox import Mailbox, running_mailbox, text_of
from tests.integration.sink import Sink, running_sink
from tests.twins.clock import ManualClock
from tests.twins.opened_project import opened_project
from tests.twins.project import InMemoryProject
from tests.unit.alerts.examples import make_alert

pytestmark = pytest.mark.usefixtures("airflow_database")

INCLUDE = Path(__file__).parents[3] / "include"
POLICY = """\
name: local
runbook: https://wiki.example.org/runbook
channels:
  pager: {connection: pager}
  mail: {connection: post, to: [ada@example.org, grace@example.org]}
quiet_hours:
  nights: {begin: "22:00", end: "06:00"}
rules:
  - classes: [halted, loss-risk, failed-run]
    notify: [pager, mail]
    repeat: 4 hours
  - classes: [stalled]
    notify: []
  - notify: [mail]
    quiet: nights
"""


@pytest.fixture
def sink() -> Iterator[Sink]:
    with running_sink() as sink:
        yield sink


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with running_mailbox() as mailbox:
        yield mailbox


@pytest.fixture
def home(tmp_path: Path, sink: Sink, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a policy, and Airflow with the connections that it names."""
    (tmp_path / "include" / "alerts").mkdir(parents=True)
    (tmp_path / "include" / "alerts" / "local.yaml").write_text(POLICY)
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    pager = {"conn_type": "apprise", "extra": {"config": {"path": sink.address}}}
    extra = {"from_email": "sluice@example.org", "disable_ssl": True, "disable_tls": True, "timeout": 5}
    post = {"conn_type": "smtp", "host": "127.0.0.1", "port": mailbox.port, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_PAGER", json.dumps(pager))
    monkeypatch.setenv("AIRFLOW_CONN_POST", json.dumps(post))
    settings.cache_clear()
    return tmp_path


@dataclass
class KnownRuns:
    """What Airflow would say."""

    states: dict[tuple[str, str], str] = field(default_factory=dict)
    succeeded: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)

    def state(self, dag_id: str, run_id: str) -> str:
        return self.states.get((dag_id, run_id), "")

    def successes(self, dag_id: str) -> int:
        return self.succeeded.get(dag_id, 0)

    def failures(self, dag_id: str) -> int:
        return self.failed.get(dag_id, 0)


class Fleet:
    """The unit `flights` with one stream that a test makes bad and well, and the rounds over it."""

    def __init__(self) -> None:
        self.project = InMemoryProject(load_catalog(INCLUDE))
        self.clock: ManualClock = self.project.clock
        self.runs = KnownRuns()
        life = self.project.streams.life("flights")
        life.start("ada", "launch")
        self.is_(Health.OK)

    def is_(self, health: Health, why: str = "As seen.") -> None:
        """Have a watcher see a health in every stream of the unit."""
        registry, now = self.project.records.registry(), self.clock.now()
        generation = registry.latest_attempt("flights").generation
        verdict = Verdict(health, why, "act", lag_records=7)
        streams = self.project.catalog.units()["flights"].streams
        registry.record_verdicts([NewVerdict("flights", stream, generation, verdict) for stream in streams])
        newest = [
            StreamSnapshot("flights", stream, generation, now, verdict, Rates(1.0, 1.0), timedelta(hours=2))
            for stream in streams
        ]
        cast(Project, self.project).records.snapshots().store(newest)

    def minutes_pass(self, minutes: int) -> None:
        self.clock.sleep(60 * minutes)

    def round(self) -> None:
        alert_round(lambda: cast(Project, self.project), self.runs, airflow_dispatcher(self.clock))


def outcomes() -> list[DeliveryOutcome]:
    history = Journal(settings().folder.alerts).read()
    return [history.deliveries[alert.id].outcome for alert in history.alerts]


def open_keys() -> set[tuple[str, AlertClass]]:
    return set(open_incidents(Journal(settings().folder.alerts).read()))


@pytest.mark.usefixtures("home")
def test_loss_is_told_once_with_evidence_link_and_runbook_and_its_end_is_told(sink: Sink, mailbox: Mailbox) -> None:
    fleet = Fleet()
    fleet.round()
    assert not sink.received

    fleet.is_(Health.LOSS_RISK, "Retention deletes what is unread in 4 min.")
    for _ in range(3):
        fleet.round()
        fleet.minutes_pass(1)

    streams = fleet.project.catalog.units()["flights"].streams
    assert len(sink.received) == len(mailbox.received) == len(streams)
    page, mail = sink.received[0], mailbox.received[0]
    assert page["title"] == mail["subject"]
    assert "is LOSS_RISK (unit flights)" in page["title"]
    assert (mail["from"], mail["to"]) == ("sluice@example.org", "ada@example.org, grace@example.org")
    for text in (page["message"], text_of(mail)):
        assert "Retention deletes what is unread in 4 min." in text
        assert "generation 1 of unit flights" in text
        assert "/dags/stream_flights" in text
        assert "https://wiki.example.org/runbook#loss_risk" in text

    fleet.is_(Health.OK, "It keeps up.")
    fleet.round()
    assert len(sink.received) == len(streams), "it has only just become well"
    fleet.minutes_pass(6)
    fleet.round()
    fleet.round()
    assert len(sink.received) == len(mailbox.received) == 2 * len(streams)
    assert sink.received[-1]["type"] == "success"
    assert sink.received[-1]["title"].startswith("Over: Stream ")
    assert open_keys() == set()


@pytest.mark.usefixtures("home")
def test_what_lasts_is_told_again_as_often_as_the_policy_says(sink: Sink) -> None:
    fleet = Fleet()
    fleet.is_(Health.LOSS_RISK)
    fleet.round()
    first = len(sink.received)
    fleet.minutes_pass(239)
    fleet.is_(Health.LOSS_RISK)
    fleet.round()
    assert len(sink.received) == first
    fleet.minutes_pass(2)
    fleet.round()
    assert len(sink.received) == 2 * first
    assert sink.received[-1]["title"].startswith("Still: Stream ")
    assert "a reminder: it began at" in sink.received[-1]["message"]


@pytest.mark.usefixtures("home")
def test_quiet_hours_hold_it_back_until_the_morning_and_what_is_over_by_then_wakes_nobody(mailbox: Mailbox) -> None:
    clock = ManualClock()
    clock.sleep((22 - clock.now().hour + 24) % 24 * 3600)
    held = [make_alert(f"a{n}", at=clock.now(), subject=f"topic t{n}", alert_class=AlertClass.DRIFT) for n in range(2)]
    for alert in held:
        assert airflow_dispatcher(clock).notify(alert).outcome is DeliveryOutcome.HELD
    clock.sleep(3600)
    over = make_alert("a2", at=clock.now(), subject="topic t0", alert_class=AlertClass.DRIFT, level=Level.RECOVERY)
    assert airflow_dispatcher(clock).notify_end(over).outcome is DeliveryOutcome.WITHHELD
    assert not mailbox.received

    clock.sleep(8 * 3600)
    for _ in range(2):
        alert_round(lambda: cast(Project, InMemoryProject()), KnownRuns(), airflow_dispatcher(clock))
    assert [mail["x-sluice-alert"] for mail in mailbox.received] == ["a1"]


@pytest.mark.usefixtures("home")
def test_what_the_policy_tells_nobody_is_on_record(sink: Sink, mailbox: Mailbox) -> None:
    fleet = Fleet()
    fleet.is_(Health.STALLED)
    fleet.minutes_pass(3)
    fleet.round()
    fleet.round()
    assert not sink.received
    assert not mailbox.received
    assert set(outcomes()) == {DeliveryOutcome.MUTED}


@pytest.mark.usefixtures("home")
def test_a_service_that_failed_is_asked_again_and_the_failure_is_visible(sink: Sink, mailbox: Mailbox) -> None:
    mailbox.refusal = "550 who is ada"
    fleet = Fleet()
    alert = make_alert("a1", at=fleet.clock.now(), dag_id="topics", successes=3)
    assert airflow_dispatcher(fleet.clock).notify(alert).outcome is DeliveryOutcome.FAILED
    history = Journal(settings().folder.alerts).read()
    assert "550" in history.deliveries["a1"].detail
    mailbox.refusal = ""
    fleet.round()
    assert len(sink.received) == 1
    fleet.minutes_pass(6)
    fleet.round()
    assert [mail["x-sluice-alert"] for mail in mailbox.received] == ["a1"]
    assert len(sink.received) == 1, "who has got it does not get it again"
    assert outcomes() == [DeliveryOutcome.DELIVERED]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("how", ["cleared", "later"])
def test_a_failed_run_is_over_when_it_or_a_later_one_succeeds(sink: Sink, how: str) -> None:
    fleet = Fleet()
    alert = make_alert("a1", at=fleet.clock.now(), dag_id="topics", run_id="r1", successes=3)
    airflow_dispatcher(fleet.clock).notify(alert)
    fleet.runs.succeeded["topics"] = 3
    fleet.round()
    assert len(sink.received) == 1
    if how == "cleared":
        fleet.runs.states["topics", "r1"] = "success"
    else:
        fleet.runs.succeeded["topics"] = 4
    fleet.round()
    assert len(sink.received) == 2
    assert sink.received[-1]["title"] == f"Over: {alert.what}"
    assert open_keys() == set()


def test_a_policy_that_is_broken_leaves_everything_to_one_connection(
    home: Path, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SLUICE_ALERTS", json.dumps(_pager(sink)))
    (home / "include" / "alerts" / "local.yaml").write_text(POLICY.replace("notify: [mail]", "notify: [male]"))
    assert airflow_dispatcher().notify(make_alert("a1")).outcome is DeliveryOutcome.DELIVERED
    (page,) = sink.received
    assert "there is no channel 'male' in this policy" in page["message"]
    assert "every alert goes to sluice_alerts" in page["message"]


def _pager(sink: Sink) -> dict[str, object]:
    return {"conn_type": "apprise", "extra": {"config": {"path": sink.address}}}


@pytest.mark.usefixtures("home")
def test_the_reconciler_plays_the_round_in_airflow(sink: Sink) -> None:
    fleet = Fleet()
    fleet.is_(Health.LOSS_RISK)
    with opened_project(fleet.project):
        build_reconcile_dag(clock=fleet.clock).test()
    assert sink.received
    assert "is LOSS_RISK" in sink.received[0]["title"]


@pytest.mark.usefixtures("home")
def test_the_reconciler_calls_nobody_because_something_did_not_answer_for_a_moment(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, opened = Fleet(), iter([0, 1])

    def open_project() -> Project:
        if next(opened, None) is not None:
            raise UnreachableError("the control database could not be queried: database is locked.")
        return cast(Project, fleet.project)

    monkeypatch.setattr(runtime, "open_project", open_project)
    dag = build_reconcile_dag(clock=fleet.clock)
    dag.get_task("decide").retry_delay = timedelta(0)
    assert dag.test().state == DagRunState.SUCCESS
    assert sink.received == []
