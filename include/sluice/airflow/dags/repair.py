"""The DAG `repair_intervals`: recomputes intervals that are known to be incomplete, by runs of their backfill DAGs.

Like the reconciler it holds no state and changes nothing itself. Every five minutes it reads each pipeline's ledger and
triggers at most one run per pipeline, and none beside another backfill. A repair's run is named by the day and by what
it would work on, so what failed is tried again tomorrow, or as soon as anything about it changes, and not before.
The round is done in the triggerer (`sluice.airflow.rounds`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import DAG, CronTriggerTimetable

from sluice.airflow import runtime
from sluice.airflow.dags.conventions import QUICK_RETRIES, Tag, sluice_dag
from sluice.airflow.dags.reconciler import ACTIVE
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.rounds import AskedOfAirflow, Found, RoundOperator, RoundTrigger, trigger_decided
from sluice.clock import SystemClock
from sluice.errors import SluiceError
from sluice.intervals.backfill.repair import Repair, decide, needed_repair, run_id
from sluice.intervals.backfill.request import Mode, Only
from sluice.project.project import Project
from sluice.specs.catalog.dag_ids import backfill_dag_id

log = logging.getLogger(__name__)


def build_repair_dag() -> DAG:
    """Build the DAG."""
    with sluice_dag(
        "repair_intervals",
        doc=__doc__ or "",
        description="Recomputes dirty intervals automatically.",
        tags=(Tag.BACKFILL, Tag.UPKEEP),
        schedule=CronTriggerTimetable("*/5 * * * *", timezone="UTC"),
        dagrun_timeout=timedelta(minutes=10),
    ) as dag:
        decided = RoundOperator(
            task_id="decide",
            in_triggerer=RepairTrigger,
            doc_md="The log says for each pipeline what is done and why. Skipped where nothing is to be triggered.",
            **QUICK_RETRIES,
        )
        trigger_decided(decided, doc="Runs the pipeline's own backfill DAG.")
    return dag


class RepairTrigger(RoundTrigger):
    """Checks all pipelines."""

    def round(self, ti: AskedOfAirflow) -> Found:
        """Return one run to trigger per pipeline that needs a repair."""
        now = SystemClock().now()
        with retried_only_if_unknown():
            project = runtime.open_project()
        return [
            run_to_trigger(pipeline, repair, now) for pipeline, repair in needed_repairs(project, ti.get_dr_count, now)
        ]


def needed_repairs(project: Project, runs_of: Callable[..., int], now: datetime) -> list[tuple[str, Repair]]:
    """Decide for every pipeline, log it, and return the repairs to start. What cannot be checked is left alone.

    `runs_of` counts runs of a DAG, by `dag_id` with `states` or `run_ids`.
    """
    needed = []
    for pipeline, spec in project.catalog.interval_pipelines.items():
        dag_id = backfill_dag_id(pipeline)
        try:
            repair = needed_repair(project.tables.ledger(pipeline), project.code_of(pipeline))
            decision = decide(
                repair,
                wanted=spec.backfill.repair,
                most=spec.backfill.repair_most,
                active_runs=runs_of(dag_id=dag_id, states=list(ACTIVE)),
                at_work=project.processes.backfills_at_work(pipeline),
                tried=repair is not None and runs_of(dag_id=dag_id, run_ids=[run_id(repair, now)]) > 0,
            )
        except SluiceError as error:
            log.error("%s: not observed, so nothing is done: %s", pipeline, error)  # noqa: TRY400 - it says it all
            continue
        log.info("%s: %s, because %s", pipeline, "repair" if decision.start else "nothing", decision.why)
        if decision.start and repair is not None:
            needed.append((pipeline, repair))
    return needed


def run_to_trigger(pipeline: str, repair: Repair, now: datetime) -> dict[str, Any]:
    """Return the arguments of one `TriggerDagRunOperator`."""
    return {
        "trigger_dag_id": backfill_dag_id(pipeline),
        "trigger_run_id": run_id(repair, now),
        "conf": {
            "from": repair.range.start.isoformat(),
            "to": repair.range.end.isoformat(),
            "mode": Mode.RECOMPUTE.value,
            "only": Only.DIRTY.value,
            "reason": repair.why[:500],
        },
    }
