"""The DAG `topics`, run by Airflow, where a person is asked: in memory and against a real broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from airflow.jobs.job import Job
from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
from airflow.models.dagrun import DagRun
from airflow.sdk import DagRunState
from airflow.utils.session import create_session

from sluice.airflow.dags.topics import build_topics_dag
from sluice.alerts.alert import Level
from sluice.audit.log import AuditLog
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.settings import settings
from tests.integration.airflow.people import Page, Person, as_it_is, meanwhile
from tests.integration.airflow.topic_runs import (
    DAY_MS,
    GREEN,
    NOT_ENFORCED,
    REFUSED,
    Case,
    alerts,
    calls,
    own_topic,
    pressing,
    run,
)
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.opened_project import opened_project
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("airflow_database", "private_state", "no_runs")


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.verify)])
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    """A topic with two partitions that keeps everything, as declared; four partitions are declared from now on."""
    if request.param == "memory":
        yield own_topic()
    else:
        broker: BrokerProcess = request.getfixturevalue("broker")
        with KafkaPythonAdministration([broker.bootstrap]) as administration:
            yield own_topic(administration)


@pytest.fixture(scope="module")
def ada(airflow_database: Path) -> Person:
    assert airflow_database.is_file()
    return Person("ada")


@pytest.mark.parametrize("case", ["memory", pytest.param("kafka", marks=pytest.mark.verify)], indirect=True)
def test_a_guarded_plan_waits_and_is_applied_when_somebody_approves_it(case: Case, ada: Person) -> None:
    seen: list[Page] = []

    def check(page: Page) -> None:
        assert case.state().partitions == 2, "nothing is applied while it waits"
        assert page["task_instance"]["trigger"] is None, "no trigger waits for a person"
        seen.append(page)

    with pressing(ada, "Approve", before=check):
        ran = run(case.project)

    assert (ran.state, ran.tasks) == (DagRunState.SUCCESS, GREEN)
    assert case.state().partitions == 4
    plan = as_it_is(seen[0])["plan"]
    assert ran.applied == {"applied": 1, "summary": f"changed {case.name}", "plan": plan, "approved_by": "ada"}
    assert (ran.approved["by"], ran.approved["answer"]) == ("ada", "approved")
    assert plan in seen[0]["subject"]
    assert f"| {case.name.replace('_', '&#95;')} | partitions | 2 | 4 | approval |" in seen[0]["body"]
    assert f"**{case.name.replace('_', '&#95;')}, partitions** affects:" in seen[0]["body"]
    assert list(seen[0]["params"]) == ["plan"]
    assert alerts() == []
    question, over = calls()
    assert question[:2] == (Level.QUESTION, f"Plan {plan} waits for an answer")
    assert "It waits at most 24 hours; then the run fails" in question[2]
    assert over == (Level.RECOVERY, f"Plan {plan} waits no longer", "ada has approved it.")
    *_, approved, applied = AuditLog(settings().folder.audit).read().acts
    assert (approved.what, approved.detail) == ("topics approve", f"ada has approved plan {plan}")
    assert (applied.what, applied.detail) == ("topics apply", f"changed {case.name}, approved by ada")


def test_a_rejected_plan_changes_nothing_and_is_no_failure(
    case: Case, ada: Person, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with pressing(ada, "Reject"):
        ran = run(case.project)

    assert ran.tasks == {"plan": "success", "approve": "success", "apply": "skipped", "verify": "skipped"}
    assert (ran.approved["answer"], ran.approved["by"]) == ("rejected", "ada")
    assert case.state().partitions == 2
    assert alerts() == []
    assert "Rejected by ada" in caplog.text + capsys.readouterr().out


@pytest.mark.parametrize(
    "typed", ["yes", *(pytest.param(text, marks=pytest.mark.verify) for text in ("", "some_other_topic"))]
)
def test_loss_takes_the_names_of_the_topics_and_any_other_text_applies_nothing(
    case: Case, ada: Person, typed: str
) -> None:
    case.declare_loss()

    with pressing(ada, "Approve", losing=typed):
        ran = run(case.project)

    assert (ran.state, ran.tasks) == (DagRunState.FAILED, REFUSED)
    assert case.state().configs["retention.ms"] == "-1"
    assert case.state().partitions == 2
    assert f"and typed {typed!r}" in alerts()[0]
    assert f"{case.name!r} was expected, and nothing was applied" in alerts()[0]


def test_loss_is_applied_when_exactly_the_names_were_typed(case: Case, ada: Person) -> None:
    case.declare_loss()
    pages: list[Page] = []

    with pressing(ada, "Approve", before=pages.append, losing=f" {case.name}\n"):
        ran = run(case.project)

    assert (ran.state, ran.tasks) == (DagRunState.SUCCESS, GREEN)
    assert case.state().configs["retention.ms"] == DAY_MS
    assert list(pages[0]["params"]) == ["plan", "losing"]
    assert f"**{case.name.replace('_', '&#95;')}**" in pages[0]["body"]


def test_a_cluster_that_changed_between_plan_and_approval_refuses_the_old_plan(case: Case, ada: Person) -> None:
    def grow(page: Page) -> None:
        assert page
        case.administration.grow(case.name, 3)

    with pressing(ada, "Approve", before=grow):
        ran = run(case.project)

    assert (ran.state, ran.tasks) == (DagRunState.FAILED, REFUSED)
    assert case.state().partitions == 3
    (why, _) = alerts()
    assert "The specs or the cluster have changed since that page was made, so nothing was applied." in why
    assert f"now: {case.name}: partitions is 3, declared 4" in why

    with pressing(ada, "Approve"):
        assert run(case.project).tasks == GREEN
    assert case.state().partitions == 4


def test_a_spec_that_changed_between_plan_and_approval_refuses_the_old_plan(case: Case, ada: Person) -> None:
    with pressing(ada, "Approve", before=lambda _: case.declare(partitions=8)):
        ran = run(case.project)

    assert ran.tasks == REFUSED
    assert case.state().partitions == 2


@pytest.mark.verify
def test_what_somebody_else_has_done_meanwhile_is_no_failure(case: Case, ada: Person) -> None:
    with pressing(ada, "Approve", before=lambda _: case.administration.grow(case.name, 4)):
        ran = run(case.project)

    assert ran.tasks == GREEN
    assert ran.applied["summary"] == "nothing to change"


def test_a_person_who_fails_ends_the_run_that_waits(case: Case, ada: Person) -> None:
    asked: list[Page] = []

    def refuses(page: Page) -> None:
        asked.append(page)
        raise LookupError("no such button")

    with pytest.raises(LookupError, match="no such button"), pressing(ada, "Approve", before=refuses):
        run(case.project)

    assert ada.answer(asked[0], "Reject", as_it_is(asked[0])) == 200, "the next test finds no question of this one"


# What goes wrong around it; the cluster does not matter.


@pytest.fixture
def grown() -> Case:
    return own_topic(name="sales")


class Dying(InMemoryKafkaAdministration):
    """Its client is killed once, after so many changes."""

    def __init__(self, changes: int) -> None:
        super().__init__()
        self.left = changes

    def grow(self, topic: str, partitions: int, assignment: Any = ()) -> None:  # noqa: ANN401 - the twin's
        super().grow(topic, partitions, assignment)
        self._live_on()

    def set_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        super().set_configs(topic, configs)
        self._live_on()

    def _live_on(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise SystemExit(9)


@pytest.mark.parametrize("changes", [1, pytest.param(2, marks=pytest.mark.verify)])
def test_a_run_that_is_killed_anywhere_is_finished_by_the_next(grown: Case, ada: Person, changes: int) -> None:
    topics = grown.project.cluster.topics
    grown.project.cluster = Dying(changes)
    grown.project.cluster.topics = topics
    grown.project.cluster.offsets = {"sales": {0: 0, 1: 0}}
    grown.declare_loss()
    grown.declare(partitions=4)
    dag = build_topics_dag()
    dag.get_task("apply").retries = 0

    with opened_project(grown.project), pressing(ada, "Approve", losing="sales"):
        dag.test()

    assert grown.state().partitions == 4
    if changes == 1:
        assert grown.state().configs["retention.ms"] == "-1"
        with pressing(ada, "Approve", losing="sales"):
            assert run(grown.project).tasks == GREEN
    assert grown.state().configs["retention.ms"] == DAY_MS
    assert run(grown.project).tasks == NOT_ENFORCED


@pytest.mark.verify
def test_a_try_after_one_that_did_everything_and_was_killed_succeeds(grown: Case, ada: Person) -> None:
    topics = grown.project.cluster.topics
    grown.project.cluster = Dying(1)
    grown.project.cluster.topics = topics
    grown.project.cluster.offsets = {"sales": {0: 0, 1: 0}}
    dag = build_topics_dag()
    dag.get_task("apply").retry_delay = dag.get_task("apply").retry_delay / 100

    with opened_project(grown.project), pressing(ada, "Approve"):
        dag_run = dag.test()

    assert dag_run.state == DagRunState.SUCCESS
    assert grown.state().partitions == 4


@pytest.mark.verify
def test_the_page_of_a_task_that_was_cleared_is_the_old_one_and_approves_only_what_it_shows(
    grown: Case, ada: Person
) -> None:
    bodies: list[str] = []

    def act() -> None:
        page = ada.page("topics")
        bodies.append(page["body"])
        grown.declare(partitions=8)
        run_id = page["task_instance"]["dag_run_id"]
        cleared = {"dry_run": False, "dag_run_id": run_id, "task_ids": ["plan"], "include_downstream": True}
        ada.send("POST", "/dags/topics/clearTaskInstances", {**cleared, "only_failed": False})
        again = ada.page("topics")
        assert again["task_instance"]["try_number"] > 1
        bodies.append(again["body"])
        assert ada.answer(again, "Approve", as_it_is(again)) == 200

    with meanwhile(act):
        ran = run(grown.project)

    assert bodies[0] == bodies[1], "Airflow shows the new plan now: the id in the form is no longer needed"
    assert ran.tasks == REFUSED
    assert grown.state().partitions == 2


@pytest.mark.verify
@pytest.mark.parametrize("fields", [{}, {"plan": None}, {"plan": "0123456789ab"}])
def test_an_answer_that_does_not_name_the_plan_approves_nothing(
    grown: Case, ada: Person, fields: Mapping[str, Any]
) -> None:
    def act() -> None:
        assert ada.answer(ada.page("topics"), "Approve", fields) == 200

    with meanwhile(act):
        ran = run(grown.project)

    assert ran.tasks == REFUSED
    assert grown.state().partitions == 2


@pytest.mark.verify
def test_a_topic_that_is_not_drained_in_time_does_not_grow(grown: Case, ada: Person) -> None:
    with pressing(ada, "Approve"):
        ran = run(grown.project, drain_minutes=0.001)

    assert ran.tasks == REFUSED
    assert grown.state().partitions == 2
    assert "drained" in alerts()[0]


@pytest.mark.verify
def test_nobody_answers_twice_and_who_may_only_read_does_not_answer(grown: Case, ada: Person) -> None:
    def act() -> None:
        page = ada.page("topics")
        assert Person("eve", "viewer").answer(page, "Approve", as_it_is(page)) == 403
        assert ada.answer(page, "Approve", as_it_is(page)) == 200
        assert ada.answer(page, "Reject", as_it_is(page)) == 409

    with meanwhile(act):
        assert run(grown.project).tasks == GREEN


def test_a_plan_that_nobody_answers_in_time_ends_and_says_so(grown: Case, ada: Person) -> None:
    def act() -> None:
        ada.page("topics")
        scheduler = SchedulerJobRunner(Job())

        def over() -> bool:
            scheduler.check_awaiting_input_timeouts()
            with create_session() as session:
                found = session.query(DagRun).filter(DagRun.dag_id == "topics", DagRun.state == "running").all()
                return not found

        eventually(over)

    with meanwhile(act):
        ran = run(grown.project, wait_hours=0.0001)

    states = {"plan": "success", "approve": "failed", "apply": "upstream_failed", "verify": "upstream_failed"}
    assert (ran.state, ran.tasks) == (DagRunState.FAILED, states)
    assert grown.state().partitions == 2
    assert alerts()[0].startswith("No answer came in time, so nothing was applied.")
    assert calls()[-1][0] is Level.RECOVERY
    assert calls()[-1][2].startswith("No answer came in time")


def test_hostile_text_from_the_cluster_reaches_the_page_as_text(ada: Person) -> None:
    case = own_topic(name="sales")
    hostile = "{{ 7*7 }} | <b>x</b> [a](http://evil.example) `"
    sales = case.project.cluster.topics["sales"]
    case.project.cluster.topics["sales"] = replace(sales, configs={"retention.ms": hostile})
    pages: list[Page] = []

    with pressing(ada, "Reject", before=pages.append):
        run(case.project)

    (row,) = [line for line in pages[0]["body"].splitlines() if "retention" in line]
    assert "&#123;&#123; 7&#42;7 &#125;&#125; &#124; &#60;b&#62;" in row
    assert "<b>" not in row
    assert "http://" not in row
