"""Runs of the DAG `topics` in tests: a project in memory, a topic of a test's own, and a person who answers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sluice.airflow.dags.topics import build_topics_dag
from sluice.alerts.alert import Level
from sluice.alerts.journal import Journal
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.streams.health.observation import Observation
from sluice.topics.administration import KafkaAdministration, TopicState
from tests.integration.airflow.people import Page, Person, as_it_is, meanwhile
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.opened_project import opened_project
from tests.twins.project import InMemoryProject

DAY_MS = str(24 * 3600 * 1000)
GREEN = {"plan": "success", "approve": "success", "apply": "success", "verify": "success"}
NOT_ENFORCED = {**GREEN, "approve": "skipped"}
REFUSED = {**GREEN, "apply": "failed", "verify": "upstream_failed"}


@dataclass
class StreamedProject(InMemoryProject):
    """A project whose streams show what a test says; at first nobody reads anything."""

    shown: Callable[[str], Mapping[str, Observation]] = field(default=lambda _unit: {})

    def observations(self, unit: str) -> Mapping[str, Observation]:
        return self.shown(unit)


@dataclass(frozen=True)
class Ran:
    """A run that is over: its state, that of each task, and what `approve` and `apply` returned.

    How `follow` ended stands apart: it depends on what has grown.
    """

    state: str
    tasks: Mapping[str, str]
    followed: str
    approved: Any
    applied: Any


def run(project: InMemoryProject, **conf: object) -> Ran:
    with opened_project(project):
        dag_run = build_topics_dag().test(run_conf=conf)
    tasks = {task.task_id: task for task in dag_run.get_task_instances()}
    states = {name: str(task.state) for name, task in tasks.items()}
    followed = states.pop("follow")
    return Ran(dag_run.state, states, followed, tasks["apply"].xcom_pull("approve"), tasks["apply"].xcom_pull("apply"))


@dataclass
class Case:
    """A topic of a test's own, in a cluster, and what is declared of it."""

    project: StreamedProject
    name: str

    @property
    def administration(self) -> KafkaAdministration:
        return self.project.kafka.administration()

    def state(self) -> TopicState:
        return self.administration.describe([self.name])[self.name]

    def declare(self, **changes: object) -> None:
        """Change what the topic's spec says."""
        catalog = self.project.catalog
        spec = catalog.topics[self.name].model_copy(update=changes)
        self.project.catalog = replace(catalog, topics={self.name: spec})

    def declare_loss(self) -> None:
        """Keep records for a day, which takes those that are older."""
        spec = self.project.catalog.topics[self.name].model_dump(mode="json", exclude_unset=True)
        found = type(self.project.catalog.topics[self.name]).model_validate({**spec, "retention": "1 day"})
        self.project.catalog = replace(self.project.catalog, topics={self.name: found})


def prepared(case: Case) -> Case:
    assert run(case.project).tasks == NOT_ENFORCED
    case.declare(partitions=4)
    return case


def pressing(person: Person, option: str, *, before: Callable[[Page], None] | None = None, **typed: str) -> Any:  # noqa: ANN401 - a context
    """Wait for the page, check it, and press a button."""

    def act() -> None:
        page = person.page("topics")
        if before is not None:
            before(page)
        assert person.answer(page, option, {**as_it_is(page), **typed}) == 200

    return meanwhile(act)


def alerts() -> list[str]:
    """Return why something failed, oldest first."""
    told = Journal(settings().folder.alerts).read().alerts
    return [alert.why for alert in told if alert.level in (Level.TASK, Level.DAG)]


def calls() -> list[tuple[Level, str, str]]:
    """Return who was called to a plan, and that it is over."""
    told = Journal(settings().folder.alerts).read().alerts
    return [(a.level, a.what, a.why) for a in told if a.level in (Level.QUESTION, Level.RECOVERY)]


def own_topic(administration: KafkaAdministration | None = None, *, name: str = "") -> Case:
    """Return a topic with two partitions that keeps everything, as declared; four are declared from now on."""
    name = name or f"topic_{uuid.uuid4().hex[:12]}"
    shipped = load_catalog(settings().home / "include").topics["flights"]
    catalog = Catalog(topics={name: shipped.model_copy(update={"name": name, "partitions": 2})})
    return prepared(Case(StreamedProject(catalog, administration or InMemoryKafkaAdministration()), name))
