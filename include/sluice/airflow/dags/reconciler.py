"""The DAG `reconcile_streams`: brings units to their desired state, by runs of the streams' own DAGs.

It holds no state and acts on nothing itself. Each minute it checks every unit and triggers at most one run per unit,
and none where a run is active or queued, so that runs never pile up, whatever is paused or slow. Before that it
sends the alerts about what has begun, is due, or is over, and compares the desired states with their copy, which stands
in for a control database that was lost. The round is done in the triggerer (`sluice.airflow.rounds`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from airflow.sdk import DAG, CronTriggerTimetable

from sluice.airflow import runtime
from sluice.airflow.alerts.alert_round import alert_round
from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.batches.spark_connection import at_connection
from sluice.airflow.dags.conventions import QUICK_RETRIES, Tag, sluice_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.rounds import AskedOfAirflow, Found, RoundOperator, RoundTrigger, trigger_decided
from sluice.airflow.streams.reconciliation import decide, restore_desired_states
from sluice.airflow.streams.stream_request import UnitCommand
from sluice.alerts.journal import Journal
from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.settings import settings
from sluice.specs.catalog.dag_ids import stream_dag_id
from sluice.specs.load import scan
from sluice.specs.units import declared_units
from sluice.streams.life.reconcile import Correction

ACTIVE = ("queued", "running")
"""States of a DAG run in which it watches, or is about to."""


def build_reconcile_dag(*, clock: Clock | None = None) -> DAG:
    """Build the reconciler."""
    with sluice_dag(
        "reconcile_streams",
        doc=__doc__ or "",
        description="Starts what should run and has no driver, and watches what runs unwatched.",
        tags=(Tag.STREAM, Tag.UPKEEP),
        schedule=CronTriggerTimetable("* * * * *", timezone="UTC"),
        start_date=datetime(2025, 1, 1, tzinfo=UTC),
        dagrun_timeout=timedelta(minutes=10),
    ) as dag:
        decided = RoundOperator(
            task_id="decide",
            in_triggerer=ReconcileTrigger,
            in_worker=lambda ti: reconcile_round(ti, runtime.open_project, clock or SystemClock()),
            doc_md="The log says for each unit what is done and why. Skipped where nothing is to be triggered.",
            **QUICK_RETRIES,
        )
        trigger_decided(decided, doc="Runs the unit's own DAG, which claims, submits and watches.")
    return dag


def reconcile_round(ti: AskedOfAirflow, open_project: Callable[[], Project], clock: Clock) -> Found:
    """Send the alerts that are due, and return one run to trigger per unit that needs it."""
    opened = cache(lambda: at_connection(open_project()))
    alert_round(opened, AirflowRuns(ti), airflow_dispatcher(clock))
    with retried_only_if_unknown():
        project = opened()
        restore_desired_states(project)
        include = settings().home / "include"
        needed = decide(
            declared_units(scan(include), include).values(),
            observe=lambda unit: project.streams.life(unit).record_end(),
            active_runs=lambda unit: ti.get_dr_count(dag_id=stream_dag_id(unit), states=list(ACTIVE)),
            notified=notified,
            now=clock.now(),
        )
    return [run_to_trigger(unit, action, clock.now()) for unit, action in needed]


class ReconcileTrigger(RoundTrigger):
    """Does the round in a process that does the next one too, so it reads the specs when they have changed."""

    def round(self, ti: AskedOfAirflow) -> Found:
        """Do it."""
        return reconcile_round(ti, _reloading().current, SystemClock())


@cache
def _reloading() -> ReloadingProject:
    return ReloadingProject(runtime.open_project)


def notified(unit: str, since: datetime) -> bool:
    """Whether an alert about a unit's DAG is on record since a time: the watch that saw the driver die made one."""
    try:
        alerts = Journal(settings().folder.alerts).read().alerts
    except SluiceError:
        return False  # then one alert too many is sent
    runs = (alert for alert in alerts if alert.dag_id == stream_dag_id(unit) and alert.run_id)
    return any(alert.at >= since for alert in runs)


class AirflowRuns:
    """What Airflow's API says of runs, asked for a task that is running."""

    def __init__(self, ti: Any) -> None:  # noqa: ANN401 - the SDK's
        self._ti = ti

    def state(self, dag_id: str, run_id: str) -> str:
        """Return a run's state; empty if there is no such run any more."""
        if not self._ti.get_dr_count(dag_id=dag_id, run_ids=[run_id]):
            return ""
        return str(self._ti.get_dagrun_state(dag_id=dag_id, run_id=run_id))

    def successes(self, dag_id: str) -> int:
        """Return how many runs of a DAG have succeeded."""
        return int(self._ti.get_dr_count(dag_id=dag_id, states=["success"]))

    def failures(self, dag_id: str) -> int:
        """Return how many runs of a DAG have failed."""
        return int(self._ti.get_dr_count(dag_id=dag_id, states=["failed"]))


def run_to_trigger(unit: str, action: Correction, now: datetime) -> dict[str, Any]:
    """Return the arguments of one `TriggerDagRunOperator`."""
    return {
        "trigger_dag_id": stream_dag_id(unit),
        "trigger_run_id": f"halted__{action.about}" if action.about else f"reconcile__{now:%Y-%m-%dT%H:%M:%S}",
        "conf": {
            "action": UnitCommand.FOLLOW.value,
            "reason": f"reconciler: {action.kind}, because {action.why}"[:500],
        },
    }
