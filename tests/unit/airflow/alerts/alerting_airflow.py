"""Airflow as alerts see it: its callbacks, its runs and the rounds, a unit that dies, and a pager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowNotFoundException

from sluice.airflow.alerts.alert_round import alert_round
from sluice.airflow.alerts.alerting import FailureNotifier
from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.alerts.services import Service
from sluice.airflow.dags.conventions import subject_of
from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import DeliveryOutcome
from sluice.alerts.incidents import open_incidents
from sluice.alerts.journal import Journal
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.load import load_catalog
from sluice.specs.model.alerting import AlertClass, Channel
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import StreamSnapshot
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Desired
from tests.twins.opened_project import opened_project
from tests.twins.project import InMemoryProject


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


def outcomes() -> list[tuple[Level, DeliveryOutcome]]:
    history = Journal(settings().folder.alerts).read()
    return [(alert.level, history.deliveries[alert.id].outcome) for alert in history.alerts]


def still_open() -> set[tuple[str, AlertClass]]:
    return set(open_incidents(Journal(settings().folder.alerts).read()))


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
        """Let minutes pass, each with a check of the streams if a watcher sees this health."""
        since = self.twin.clock.now()
        for _ in range(count):
            if health is not None:
                verdict, at = Verdict(health, "Seen."), self.twin.clock.now()
                streams = self.twin.catalog.units()["flights"].streams
                newest = [StreamSnapshot("flights", s, self.generation, at, verdict, since=since) for s in streams]
                cast(Project, self.twin).records.snapshots().store(newest)
            self.airflow.rounds()

    def titles(self) -> list[str]:
        return [alert.what for alert in self.airflow.told() if alert.alert_class is AlertClass.HALTED]
