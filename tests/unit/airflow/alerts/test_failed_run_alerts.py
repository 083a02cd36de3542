"""Each way in which a run's failure becomes known, alone and together: one alert, and one of its end."""

from __future__ import annotations

import pytest

from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.alerts.run_review import MAX_ASKED, review_runs
from sluice.alerts.alert import Level
from sluice.alerts.delivery import DeliveryOutcome
from sluice.alerts.journal import Journal
from sluice.alerts.runs import GRACE
from sluice.errors import NotReadyError
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.dag_ids import EVERYWHERE
from sluice.specs.deployments.mirror import MirrorSpec
from sluice.specs.model.alerting import AlertClass
from tests.unit.airflow.alerts.alerting_airflow import Airflow, TaskInstance, outcomes, still_open
from tests.unit.alerts.examples import make_alert


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


def test_a_lost_run_of_a_mirror_is_told_and_none_of_the_dag_that_is_red_while_a_mirror_is_behind(
    airflow: Airflow,
) -> None:
    mirror = MirrorSpec(name="standby", source="local", target="compose", topics=("flights",))
    airflow.twin.catalog = Catalog(mirrors={"standby": mirror})
    airflow.rounds()
    for dag_id in ("mirror_standby", "keep_mirrors"):
        airflow.ends(dag_id, "r1", "failed")
    airflow.rounds(10)
    assert [told.concerns for told in airflow.told()] == ["DAG mirror_standby"]
    airflow.twin.catalog = Catalog()
    airflow.rounds()
    assert [told.level for told in airflow.told()] == [Level.DAG, Level.RECOVERY]


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
    airflow.task_callback(watch, ValueError("The driver of unit flights is dead and no stop was requested."))
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
