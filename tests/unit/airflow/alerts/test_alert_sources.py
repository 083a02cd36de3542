"""Each way in which a run's failure becomes known, alone and together: somebody is told once, and of the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowNotFoundException

from sluice.airflow.alerts.alert_round import alert_round
from sluice.airflow.alerts.alerting import FailureNotifier
from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.alerts.run_review import MAX_ASKED, review_runs
from sluice.airflow.alerts.services import Service
from sluice.airflow.dags.conventions import subject_of
from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import DeliveryOutcome, DeliveryResult
from sluice.alerts.incidents import open_incidents
from sluice.alerts.journal import Journal
from sluice.alerts.runs import GRACE
from sluice.errors import NotReadyError
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.dag_ids import EVERYWHERE
from sluice.specs.load import load_catalog
from sluice.specs.model.alerting import AlertClass, Channel
from sluice.specs.model.deadlines import Deadline
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import DeadlineState, StreamSnapshot
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Desired
from tests.twins.opened_project import opened_project
from tests.twins.project import InMemoryProject
from tests.unit.alerts.examples import make_alert


@dataclass
class Pager:
    """Takes alerts and keeps them."""

    name: str = "Pager"
    took: list[Alert] = field(default_factory=list)
    fault: str = ""

    def send(self, alert: Alert) -> str:
        self.took.append(alert)
        return self.fault


@dataclass
class Task:
    execution_timeout: None = None


@dataclass
class TaskInstance:
    """What a callback is given; in the DAG processor nobody answers for how many runs there are."""

    run_id: str
    dag_id: str = "topics"
    task_id: str = "apply"
    map_index: int = -1
    try_number: int = 1
    log_url: str = "http://airflow/log"
    hostname: str = "vm"
    succeeded: int | None = None
    task: Task = field(default_factory=Task)

    def get_dr_count(self, *, dag_id: str, states: Sequence[str]) -> int:
        assert (dag_id, states) == (self.dag_id, ["success"])
        if self.succeeded is None:
            raise RuntimeError("Unhandled request")
        return self.succeeded


@dataclass
class DagRun:
    clear_number: int = 0


@dataclass
class Dag:
    dag_id: str
    owner: str = "data-platform"


@dataclass
class Airflow:
    """What Airflow counts, and the alerts that its callbacks make."""

    pager: Pager | None = field(default_factory=Pager)
    twin: InMemoryProject = field(default_factory=lambda: InMemoryProject(load_catalog(settings().home / "include")))
    states: dict[tuple[str, str], str] = field(default_factory=dict)

    def state(self, dag_id: str, run_id: str) -> str:
        return self.states.get((dag_id, run_id), "")

    def successes(self, dag_id: str) -> int:
        return self._count(dag_id, "success")

    def failures(self, dag_id: str) -> int:
        return self._count(dag_id, "failed")

    def _count(self, dag_id: str, wanted: str) -> int:
        return sum(1 for (dag, _), state in self.states.items() if (dag, state) == (dag_id, wanted))

    def find(self, channel: Channel) -> Sequence[Service]:
        if self.pager is None:
            raise AirflowNotFoundException(channel.connection)
        return [self.pager]

    def task_callback(self, ti: TaskInstance, error: Exception | None = None) -> None:
        self._call(Level.TASK, ti.dag_id, {"ti": ti, "run_id": ti.run_id, "exception": error})

    def dag_callback(self, ti: TaskInstance, reason: str = "task_failure") -> None:
        self._call(Level.DAG, ti.dag_id, {"ti": ti, "run_id": ti.run_id, "reason": reason})

    def _call(self, level: Level, dag_id: str, values: Mapping[str, Any]) -> None:
        notifier = FailureNotifier(level, subject_of(dag_id), find=self.find, clock=self.twin.clock)
        with opened_project(self.twin):
            notifier.notify(cast(Context, {"dag": Dag(dag_id), "dag_run": DagRun(), **values}))

    def ends(self, dag_id: str, run_id: str, state: str) -> None:
        self.states[dag_id, run_id] = state

    def rounds(self, minutes: int = 1) -> None:
        for _ in range(minutes):
            self.twin.clock.sleep(60)
            alert_round(lambda: cast(Project, self.twin), self, airflow_dispatcher(self.twin.clock, self.find))

    def told(self) -> list[Alert]:
        return [] if self.pager is None else self.pager.took


@pytest.fixture
def airflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Airflow]:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    settings.cache_clear()
    airflow = Airflow()
    airflow.rounds()
    yield airflow
    settings.cache_clear()


def outcomes() -> list[tuple[Level, DeliveryOutcome]]:
    history = Journal(settings().folder.alerts).read()
    return [(alert.level, history.deliveries[alert.id].outcome) for alert in history.alerts]


def still_open() -> set[tuple[str, AlertClass]]:
    return set(open_incidents(Journal(settings().folder.alerts).read()))


@pytest.mark.parametrize("seen_by", ["worker", "dag processor"])
@pytest.mark.parametrize(
    ("callbacks", "dag_id"),
    [(come, "topics") for come in ("task and run", "run", "task")]
    + [("none", dag_id) for dag_id in (*EVERYWHERE, "backfill_departures", "quality_departures")],
)
def test_a_failed_run_is_told_once_whichever_of_its_callbacks_come_and_a_later_success_ends_it(
    airflow: Airflow, seen_by: str, callbacks: str, dag_id: str
) -> None:
    ti = TaskInstance("r1", dag_id, succeeded=0 if seen_by == "worker" else None)
    if "task" in callbacks:
        airflow.task_callback(ti, ValueError("the plan does not add up"))
    airflow.ends(dag_id, "r1", "failed")
    if "run" in callbacks:
        airflow.dag_callback(ti)
    airflow.rounds(10)
    (told,) = airflow.told()
    assert told.concerns == f"DAG {dag_id}"
    assert still_open() == {told.key}

    airflow.ends(dag_id, "r2", "success")
    airflow.rounds(2)
    assert [alert.level for alert in airflow.told()] == [told.level, Level.RECOVERY]
    assert still_open() == set()


def test_a_run_that_nothing_tells_of_is_told_of_when_its_callback_has_had_its_time(airflow: Airflow) -> None:
    airflow.ends("reconcile_streams", "r1", "failed")
    airflow.rounds(int(GRACE.total_seconds() // 60))
    assert airflow.told() == []
    airflow.rounds()
    (told,) = airflow.told()
    assert told.what == "A run of DAG reconcile_streams failed without an alert"
    assert (told.level, told.alert_class) == (Level.DAG, AlertClass.FAILED_RUN)
    airflow.ends("reconcile_streams", "r2", "failed")
    airflow.rounds(10)
    assert airflow.told() == [told], "somebody knows that its runs fail"
    assert outcomes()[-1] == (Level.DAG, DeliveryOutcome.WITHHELD)


def test_a_success_before_the_failure_ends_nothing_though_nobody_could_count_it(airflow: Airflow) -> None:
    airflow.ends("topics", "r0", "success")
    airflow.ends("topics", "r1", "failed")
    airflow.dag_callback(TaskInstance("r1"))
    airflow.rounds(10)
    assert [alert.level for alert in airflow.told()] == [Level.DAG]


def test_runs_that_were_removed_from_airflow_do_not_keep_an_alert_open(airflow: Airflow) -> None:
    for number in range(9):
        airflow.ends("topics", f"old{number}", "success")
    airflow.task_callback(TaskInstance("r1", succeeded=9), ValueError("no"))
    airflow.ends("topics", "r1", "failed")
    airflow.rounds(2)
    airflow.states = {key: state for key, state in airflow.states.items() if key[1] == "r1"}
    airflow.rounds(2)
    assert still_open()
    airflow.ends("topics", "r2", "success")
    airflow.rounds(2)
    assert still_open() == set()


@pytest.mark.parametrize("configured", [True, False])
def test_a_dead_driver_is_told_once_though_its_task_and_its_run_fail(airflow: Airflow, configured: bool) -> None:
    if not configured:
        airflow.pager = None
    airflow.twin.streams.life("flights").start("ada", "launch")
    watch = TaskInstance("r1", "stream_flights", "watch", succeeded=0)
    airflow.task_callback(watch, ValueError("The driver of unit flights is dead and nobody asked for that."))
    airflow.ends("stream_flights", "r1", "failed")
    airflow.dag_callback(watch)
    airflow.rounds(3)
    first = DeliveryOutcome.DELIVERED if configured else DeliveryOutcome.NOT_CONFIGURED
    assert outcomes() == [(Level.TASK, first), (Level.DAG, DeliveryOutcome.WITHHELD)]


@pytest.mark.parametrize("state", ["failed", "success", ""])
def test_a_question_whose_run_was_killed_is_over(airflow: Airflow, state: str) -> None:
    dispatcher = airflow_dispatcher(airflow.twin.clock, airflow.find)
    fields = {"subject": "plan 3f", "alert_class": AlertClass.APPROVAL, "level": Level.QUESTION, "run_id": "r1"}
    dispatcher.notify(make_alert("q1", at=airflow.twin.clock.now(), **fields))
    airflow.ends("topics", "r1", "running")
    airflow.rounds(2)
    assert still_open() == {("plan 3f", AlertClass.APPROVAL)}
    airflow.states["topics", "r1"] = state
    airflow.rounds(2)
    assert still_open() == set()
    assert [alert.level for alert in airflow.told()] == [Level.QUESTION, Level.RECOVERY]


def test_what_cannot_be_asked_is_neither_over_nor_lost(airflow: Airflow, monkeypatch: pytest.MonkeyPatch) -> None:
    airflow.dag_callback(TaskInstance("r1"))
    airflow.ends("topics", "r1", "failed")

    def silent(_dag_id: str) -> int:
        raise ConnectionError("the API server does not answer")

    monkeypatch.setattr(airflow, "successes", silent)
    monkeypatch.setattr(airflow, "failures", silent)
    airflow.rounds(10)
    assert [alert.level for alert in airflow.told()] == [Level.DAG]
    assert len(still_open()) == 1


def test_nobody_is_told_each_minute_of_a_lost_run_that_the_journal_does_not_take(
    airflow: Airflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow.ends("topics", "r1", "failed")
    airflow.rounds(5)

    def full(*_: object) -> bool:
        raise NotReadyError("The journal of alerts cannot be written: No space left on device.")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append_unless", full)
        airflow.rounds(5)
        assert airflow.told() == []
    airflow.rounds(2)
    assert len(airflow.told()) == 1


def test_of_very_many_dags_each_has_its_turn_within_a_few_minutes(airflow: Airflow) -> None:
    asked: list[str] = []

    class Counting(Airflow):
        def failures(self, dag_id: str) -> int:
            asked.append(dag_id)
            return 0

    dags = [f"backfill_p{number:03}" for number in range(3 * MAX_ASKED)]
    dispatcher = airflow_dispatcher(airflow.twin.clock, airflow.find)
    for _ in range(3):
        review_runs(dispatcher.read(), dags, Counting(None), dispatcher)
        airflow.twin.clock.sleep(60)
    assert sorted(asked) == dags


class Flights:
    """The unit `flights` of the project, whose driver ends as a test says, and a watcher of its streams."""

    def __init__(self, airflow: Airflow) -> None:
        self.airflow, self.twin = airflow, airflow.twin
        self.generation = 0
        self.start()

    def start(self) -> None:
        registry = self.twin.records.registry()
        registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="it is mended")
        registry.intend("flights", after_generation=self.generation, key=f"local.flights.g{self.generation + 1}")
        self.generation += 1
        registry.bind("flights", self.generation)

    def dies(self) -> None:
        self.twin.clock.sleep(1)
        self.twin.records.registry().end(
            "flights", self.generation, exit_code=1, reason="failed", failure=FailureClass.CORRUPT
        )

    def minutes(self, count: int, health: Health | None) -> None:
        """Let minutes pass, each with a look at the streams if a watcher sees this health."""
        since = self.twin.clock.now()
        for _ in range(count):
            if health is not None:
                verdict, at = Verdict(health, "Seen."), self.twin.clock.now()
                streams = self.twin.catalog.units()["flights"].streams
                looks = [StreamSnapshot("flights", s, self.generation, at, verdict, since=since) for s in streams]
                cast(Project, self.twin).records.snapshots().store(looks)
            self.airflow.rounds()

    def titles(self) -> list[str]:
        return [alert.what for alert in self.airflow.told() if alert.alert_class is AlertClass.HALTED]


class Deadlines:
    """A watcher of departures, which misses a deadline or meets it again."""

    def __init__(self, airflow: Airflow) -> None:
        self.airflow, self.clock = airflow, airflow.twin.clock
        self.flights = Flights(airflow)

    def minutes(self, count: int, *, missed: bool | None, since: datetime | None = None) -> None:
        """Let minutes pass, each with an observation that says this of the deadline, and a round."""
        since = since or self.clock.now()
        for _ in range(count):
            verdict, at = Verdict(Health.LAGGING, "It falls behind.", "give it more cores"), self.clock.now()
            lasts = f"The first unread record waits for {(at - since).total_seconds():.0f} s."
            states = () if missed is None else (DeadlineState(Deadline.LOSS_RISK, missed, since, lasts, "look"),)
            look = StreamSnapshot("flights", "departures", 1, at, verdict, since=since, deadlines=states)
            cast(Project, self.airflow.twin).records.snapshots().store([look])
            self.airflow.rounds()

    def alerts(self) -> list[Alert]:
        return [alert for alert in self.airflow.told() if alert.alert_class is AlertClass.DEADLINE]


def test_a_missed_deadline_is_told_with_what_why_evidence_where_and_what_to_do(airflow: Airflow) -> None:
    watched = Deadlines(airflow)
    watched.minutes(2, missed=True)
    (alert,) = watched.alerts()
    assert alert.level is Level.STATE
    assert alert.what == "Stream departures misses its deadline loss_risk (unit flights)"
    assert alert.why == "The first unread record waits for 0 s."
    assert alert.evidence[:2] == (
        f"since {watched.clock.now() - timedelta(minutes=2):%Y-%m-%d %H:%M:%S} UTC",
        "verdict now: LAGGING. It falls behind.",
    )
    assert alert.where.endswith("/dags/stream_flights")
    assert (alert.what_to_do, alert.owner) == ("give it more cores", "flight-operations")
    history = Journal(settings().folder.alerts).read()
    assert history.deliveries[alert.id].outcome is DeliveryOutcome.DELIVERED


def test_meeting_a_deadline_again_is_told_as_good_news_and_what_is_not_known_ends_nothing(airflow: Airflow) -> None:
    watched = Deadlines(airflow)
    watched.minutes(3, missed=True)
    watched.minutes(10, missed=None)
    assert len(watched.alerts()) == 1
    watched.minutes(3, missed=False)
    _, met = watched.alerts()
    assert met.level is Level.RECOVERY
    assert met.what == "Stream departures meets its deadline again: loss_risk (unit flights)"
    assert (met.why, met.what_to_do) == ("The first unread record waits for 0 s.", "Nothing.")
    watched.minutes(2, missed=True)
    assert [alert.level for alert in watched.alerts()] == [Level.STATE, Level.RECOVERY, Level.STATE]


def test_a_deadline_that_stays_missed_is_repeated_daily_with_what_is_so_now(airflow: Airflow) -> None:
    watched = Deadlines(airflow)
    since = watched.clock.now()
    watched.minutes(3, missed=True)
    watched.clock.sleep((24 * 60 - 6) * 60)
    watched.minutes(6, missed=True, since=since)
    _, again = watched.alerts()
    assert again.what == "Still: Stream departures misses its deadline loss_risk (unit flights)"
    assert again.why == "The first unread record waits for 86400 s."
    assert again.evidence[0].startswith("a reminder: it began at ")


def test_a_missed_deadline_that_no_service_takes_is_told_as_soon_as_one_does(airflow: Airflow) -> None:
    pager, airflow.pager = airflow.pager, Pager(fault="out of order")
    watched = Deadlines(airflow)
    watched.minutes(7, missed=True)
    assert len(watched.alerts()) == 2, "at once, and after five minutes"
    airflow.pager = pager
    watched.minutes(6, missed=True)
    assert len(watched.alerts()) == 1
    watched.minutes(20, missed=True)
    assert len(watched.alerts()) == 1


def test_a_unit_that_was_resumed_is_halted_until_it_works_and_what_is_unknown_ends_nothing(airflow: Airflow) -> None:
    flights = Flights(airflow)
    flights.dies()
    flights.minutes(3, None)
    (halted,) = flights.titles()
    flights.start()
    flights.minutes(8, None)
    flights.minutes(2, Health.UNKNOWN)
    assert flights.titles() == [halted], "nobody knows yet what came of it"
    flights.minutes(7, Health.OK)
    assert flights.titles() == [halted, f"Over: {halted}"]
    assert all("UNKNOWN" not in alert.why for alert in airflow.told() if alert.level is Level.RECOVERY)
    assert still_open() == set()


@pytest.mark.parametrize("by", ["the round", "the run that watched, and then the round"])
def test_a_unit_that_halts_again_after_it_was_resumed_is_told_again_and_once(airflow: Airflow, by: str) -> None:
    flights = Flights(airflow)
    flights.dies()
    flights.minutes(2, None)
    flights.start()
    flights.dies()
    if by != "the round":
        airflow.task_callback(TaskInstance("r2", "stream_flights", "watch", succeeded=0), ValueError("it is dead"))
    flights.minutes(5, None)
    assert len(flights.titles()) == 2


def test_what_lasts_is_told_each_hour_and_not_each_minute_while_the_journal_takes_nothing(
    airflow: Airflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bool:
        raise NotReadyError("The journal of alerts cannot be written: No space left on device.")

    flights = Flights(airflow)
    flights.dies()
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append_unless", full)
        flights.minutes(125, None)
        halted = flights.titles()
    assert 3 <= len(halted) <= 6, "at once, and after one hour and two"
    flights.minutes(10, None)
    assert len(flights.titles()) == len(halted) + 1, "it is on record now"


@pytest.mark.parametrize("broken", [True, False])
def test_an_alert_about_a_stream_that_no_spec_declares_any_more_is_over_unless_the_spec_is_only_broken(
    airflow: Airflow, broken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flights = Flights(airflow)
    flights.dies()
    flights.minutes(2, None)
    (halted,) = flights.titles()
    (tmp_path / "home" / "include" / "pipelines").mkdir(parents=True)
    (tmp_path / "home" / "include" / "topics").mkdir()
    if broken:
        (tmp_path / "home" / "include" / "pipelines" / "departures.yaml").write_text("name: departures\n")
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    settings.cache_clear()
    airflow.twin.catalog = Catalog()
    airflow.rounds(2)
    assert flights.titles() == ([halted] if broken else [halted, f"Over: {halted}"])


def test_two_rounds_at_once_tell_once(airflow: Airflow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have read the journal before either has written to it."""

    def both() -> None:
        airflow.twin.clock.sleep(60)
        dispatchers = [airflow_dispatcher(airflow.twin.clock, airflow.find) for _ in range(2)]
        before = dispatchers[0].read()
        for dispatcher in dispatchers:
            first = [before]
            read = dispatcher.read
            monkeypatch.setattr(dispatcher, "read", lambda first=first, read=read: first.pop() if first else read())
            alert_round(lambda: cast(Project, airflow.twin), airflow, dispatcher)

    dispatcher = airflow_dispatcher(airflow.twin.clock, airflow.find)
    drift = {"subject": "topic t1", "alert_class": AlertClass.DRIFT, "dag_id": "topic_drift"}
    again = dispatcher.enter(make_alert("f1", at=airflow.twin.clock.now(), **drift))
    dispatcher.conclude(again, DeliveryResult(DeliveryOutcome.FAILED, "nobody answered."))
    airflow.twin.clock.sleep(600)
    both()
    assert [alert.id for alert in airflow.told()] == ["f1"]
    airflow.told().clear()

    flights = Flights(airflow)
    flights.dies()
    both()
    (halted,) = flights.titles()
    airflow.twin.clock.sleep(86_400)
    both()
    assert flights.titles() == [halted, f"Still: {halted}"]
    airflow.twin.records.registry().set_desired_state("flights", Desired.STOPPED, by="ada", why="enough")
    both()
    assert flights.titles() == [halted, f"Still: {halted}", f"Over: {halted}"]
    airflow.ends("topics", "r1", "failed")
    for _ in range(10):
        both()
    lost = [alert.what for alert in airflow.told() if alert.level is Level.DAG]
    assert lost == ["A run of DAG topics failed without an alert"]
