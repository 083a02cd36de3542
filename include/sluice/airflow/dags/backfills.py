"""The DAGs `backfill_<pipeline>`: plan, run as one Spark application, report. One DAG for all ways of asking."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import Any

from airflow.sdk import DAG, Param
from airflow.timetables.trigger import CronPartitionTimetable

from sluice.airflow.batches.backfill_request import PARTITION_FORMAT
from sluice.airflow.batches.backfill_tasks import BackfillOperator, PlanOperator, PublishAssetOperator, ReportOperator
from sluice.airflow.dags.conventions import Tag, give_form, is_parsed, sluice_dag
from sluice.airflow.dags.specs import scan_for_dags
from sluice.intervals.backfill.request import Mode, Only, StaticChoice
from sluice.specs.catalog.dag_ids import backfill_dag_id
from sluice.specs.model.model import PipelineSpec
from sluice.specs.reading.kinds import Kind

LONGEST_BACKFILL = timedelta(hours=24)
"""A run that takes longer is ended; cleared, it resumes."""


def build_backfill_dags() -> list[DAG]:
    """Build the DAG of every sound pipeline with intervals. A broken one has none, so nothing is scheduled on it."""
    pipelines = scan_for_dags((Kind.TOPIC, Kind.PIPELINE)).catalog.interval_pipelines.values()
    return [build_backfill_dag(spec) for spec in pipelines if is_parsed(backfill_dag_id(spec.name))]


def build_backfill_dag(spec: PipelineSpec) -> DAG:
    """Build the DAG of one pipeline."""
    with sluice_dag(
        backfill_dag_id(spec.name),
        doc=_documentation(spec),
        description=f"Backfills closed intervals of {spec.name} from the raw table, and proves parity with the stream.",
        tags=(Tag.BACKFILL,),
        owner=spec.owner,
        schedule=None if spec.backfill.schedule is None else _daily(spec.backfill.schedule),
    ) as dag:
        _tasks(spec)
    give_form(dag, _form(spec))
    return dag


def _tasks(spec: PipelineSpec) -> None:
    plan = PlanOperator(
        task_id="plan",
        subject=spec.name,
        doc_md="Reads the form or the partition and the ledger; refuses what overlaps. Its log says what is taken.",
    )
    run = BackfillOperator(
        task_id="run",
        pipeline=spec.name,
        execution_timeout=LONGEST_BACKFILL,
        doc_md="One Spark application. A retry or a cleared run resumes what is not done.",
    )
    report = ReportOperator(
        task_id="report",
        subject=spec.name,
        multiple_outputs=True,
        doc_md="Says what came of it.",
    )
    publish_asset = PublishAssetOperator(
        task_id="publish_asset",
        subject=spec.name,
        table=spec.intervals.table,
        trigger_rule="all_done",  # a run that failed may have published before
        doc_md="Notifies other DAGs that intervals were published, also by a run that failed later.",
    )
    plan >> run >> [report, publish_asset]


@cache
def _daily(cron: str) -> CronPartitionTimetable:
    """Return the schedule of all pipelines at a time: Airflow reads and describes a cron expression for each one made.

    It is the scheduler's own class, because the SDK's is turned into one again for every DAG.
    """
    return CronPartitionTimetable(cron, timezone="UTC", run_offset=-1, key_format=PARTITION_FORMAT)


def _form(spec: PipelineSpec) -> dict[str, Param]:
    # No `format: date-time`: Airflow's picker would take what is typed for a time in the viewer's zone.
    instant: dict[str, Any] = {"type": ["null", "string"]}
    return {
        "from": Param(
            None,
            **instant,
            title="From",
            description_md="Inclusive, in UTC: `2013-01-01`, or `2013-01-01T05:00Z`. A scheduled run takes its day.",
        ),
        "to": Param(
            None,
            **instant,
            title="To",
            description_md="In UTC: `2013-01-07`, through its end.",
        ),
        **_choices(spec),
        "reason": Param(
            None,
            type=["null", "string"],  # not null, the form could not be sent without one
            maxLength=500,
            title="Reason",
            description_md="Recorded with your name. A recompute of healthy intervals needs one.",
        ),
        "accepts": Param(
            None,
            type=["null", "string"],
            title="Accepts",
            description_md="The id of a backfill that the quality gate has stopped: it is run again, and what its gate "
            "had found is published all the same. Needs a reason, and leaves `from` and `to` empty.",
        ),
        "dry_run": Param(False, type="boolean", title="Dry run", description_md="Plan only; see the log of `plan`."),
    }


def _choices(spec: PipelineSpec) -> dict[str, Param]:
    return {
        "mode": Param(
            spec.backfill.mode,
            type="string",
            enum=[mode.value for mode in Mode],
            values_display={
                Mode.VERIFY.value: "Verify: compare with what the stream wrote, publish nothing",
                Mode.CORRECT.value: "Correct: bring late records into what is verified",
                Mode.RECOMPUTE.value: "Recompute: publish what today's code gives",
                Mode.TRY.value: "Try: compare what today's code gives with what is published, publish nothing",
            },
            title="Mode",
            description_md="The schedule does what the spec says.",
        ),
        "only": Param(
            Only.ALL.value,
            type="string",
            enum=[only.value for only in Only],
            title="Only",
            description_md="Which intervals of the range a recompute takes.",
        ),
        **(_static_choice() if any(static.reload for static in spec.static.values()) else {}),
    }


def _static_choice() -> dict[str, Param]:
    return {
        "static": Param(
            StaticChoice.RECORDED.value,
            type="string",
            enum=[choice.value for choice in StaticChoice],
            title="Static inputs",
            description_md="Of those that change: what each interval was made with, or, for a recompute, the newest.",
        )
    }


def _documentation(spec: PipelineSpec) -> str:
    cron = spec.backfill.schedule
    when = f"`{cron}` (UTC), in mode `{spec.backfill.mode}`, for the day before" if cron else "only on request"
    return f"""# Backfill of `{spec.name}`

A batch over closed intervals of `{spec.intervals.table}`: raw table → validation → transform → stage → quality gate →
publish, with the stream's own functions.

By the clock: {when}. By hand: **Trigger** with `from` and `to` (whole {spec.intervals.interval}s). Many days:
Airflow's own **Backfill**, one run per day.

`plan` says what is taken and why the rest is not; `run` is one Spark application in the pool `spark_batch`; `report`
says what came of it and links to the pages; `publish_asset` starts the quality DAG if intervals were published.

A red `run` means: different, or the gate failed, and the previous result is served. It is not retried; its last line
says what to do. A killed run, cleared, resumes what is not done.
"""
