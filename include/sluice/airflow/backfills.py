"""The DAGs `backfill_<pipeline>`: plan, run as one Spark application, report. One DAG for all ways of asking."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

from airflow.sdk import DAG, Context, Param, get_parsing_context, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.timetables.trigger import CronPartitionTimetable

from sluice.airflow import backfill_request
from sluice.airflow.assets import output_table, published
from sluice.airflow.backfill_request import PARTITION_FORMAT, Run
from sluice.airflow.conventions import Tag, backfill_dag_id, give_form, house_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.links import BACKFILL_PAGES, ParityLink, QualityLink, address_of, backfill_page
from sluice.airflow.runtime import open_project
from sluice.airflow.spark_batch import BatchOperator
from sluice.airflow.specs import scan_specs
from sluice.errors import SluiceError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfills import Backfill
from sluice.intervals.ledger import Ledger
from sluice.intervals.request import Mode, Only
from sluice.intervals.selection import Selection, select
from sluice.project import Project
from sluice.specs.kinds import Kind
from sluice.specs.model import PipelineSpec

log = logging.getLogger(__name__)

OpenProject = Callable[[], Project]

LONGEST_BACKFILL = timedelta(hours=24)
"""A run that takes longer is ended; cleared, it resumes."""


def build_backfill_dags(only: str | None = None) -> list[DAG]:
    """Build the DAG of every sound pipeline with intervals. A broken one has none, so nothing is scheduled on it.

    Args:
        only: build just the DAG with this id. Omitted: the one whose task is about to run, or all.
    """
    only = only or get_parsing_context().dag_id
    pipelines = scan_specs((Kind.TOPIC, Kind.PIPELINE)).catalog.interval_pipelines.values()
    return [build_backfill_dag(spec) for spec in pipelines if only in (None, backfill_dag_id(spec.name))]


def build_backfill_dag(spec: PipelineSpec, *, open_project: OpenProject = open_project) -> DAG:
    """Build the DAG of one pipeline.

    Args:
        spec: the pipeline.
        open_project: gives the project at run time.
    """
    with house_dag(
        backfill_dag_id(spec.name),
        doc=_documentation(spec),
        description=f"Backfills closed intervals of {spec.name} from the raw table, and proves parity with the stream.",
        tags=(Tag.BACKFILL,),
        owner=spec.owner,
        schedule=None if spec.backfill.schedule is None else _daily(spec.backfill.schedule),
    ) as dag:
        plan = _plan_task(spec.name, open_project)
        run = BackfillOperator(
            task_id="run",
            pipeline=spec.name,
            open_project=open_project,
            execution_timeout=LONGEST_BACKFILL,
            doc_md="One Spark application. A retry or a cleared run resumes what is not done.",
        )
        report, tell = _report_task(open_project), _tell_task(spec, open_project)
        plan() >> run >> [report(), tell()]
    give_form(dag, _form(spec))
    return dag


@cache
def _daily(cron: str) -> CronPartitionTimetable:
    """Return the schedule of all pipelines at a time: Airflow reads and describes a cron expression for each one made.

    It is the scheduler's own class, because the SDK's is turned into one anew for every DAG.
    """
    return CronPartitionTimetable(cron, timezone="UTC", run_offset=-1, key_format=PARTITION_FORMAT)


class BackfillOperator(BatchOperator):
    """Runs what the task `plan` of the same run has planned."""

    operator_extra_links = (ParityLink(), QualityLink())
    backfill_id: str | None = None
    """The backfill on record, once the main has claimed it."""

    def execute(self, context: Context) -> None:
        """Run it; whatever came of it, the links name its pages."""
        run = run_of(context["dag_run"])
        before = self._claimed(run)
        try:
            super().execute(context)
        except AirflowException as error:
            found = self._claimed(run)
            if found is not None and _was_cancelled(before, found):
                raise _cancelled(found, error) from error
            raise
        finally:
            found = self._claimed(run)
            self.backfill_id = None if found is None else found.id

    def _claimed(self, run: Run) -> Backfill | None:
        try:
            return self._open_project().backfills().find(run.key)
        except SluiceError as error:
            self.log.warning("The record of this backfill could not be read, so links may stay empty: %s", error)
            return None

    def batch_arguments(self, context: Context) -> Sequence[str]:
        """Return the main's arguments."""
        planned = context["ti"].xcom_pull(task_ids="plan")
        options = {"--pipeline": self.pipeline, **{f"--{name}": str(planned[name]) for name in _OPTIONS}}
        return ("backfill", *(f"{name}={value}" for name, value in options.items()))


def _was_cancelled(before: Backfill | None, found: Backfill) -> bool:
    """Whether somebody has cancelled it since this try began: a cleared task finds the old cancellation on record."""
    known = before is not None and bool(before.cancel_asked_by) and before.claimed_at == found.claimed_at
    return bool(found.cancel_asked_by) and not known


def _cancelled(found: Backfill, error: AirflowException) -> AirflowFailException:
    """Return what ends a cancelled run for good: Airflow's next try would take the backfill up again."""
    return AirflowFailException(
        f"{found.cancel_asked_by} cancelled {found.id}: it is not tried again. Clear this task to resume it. ({error})"
    )


_OPTIONS = ("from", "to", "mode", "only", "by", "why", "key")


def run_of(dag_run: Any) -> Run:  # noqa: ANN401 - the SDK's run
    """Return what is known of a run."""
    return Run(
        dag_id=dag_run.dag_id,
        run_id=dag_run.run_id,
        kind=str(getattr(dag_run.run_type, "value", dag_run.run_type)),
        user=dag_run.triggering_user_name,
        partition=dag_run.partition_key,
    )


def select_for(project: Project, pipeline: str, form: Mapping[str, Any], run: Run) -> Selection:
    """Read what a run asks for, and choose its intervals.

    Raises:
        SpecError: the form or the pipeline's spec does not stand.
        RefusedError: another backfill works on a part of the range, or a recompute has no reason.
        UnreachableError: the control database could not be asked.
    """
    spec = project.catalog.pipelines.get(pipeline)
    if spec is None:
        raise SpecError(f"there is no sound pipeline {pipeline!r}.", fix="run `sluice check` and repair it.")
    request = backfill_request.request_of(spec, form, run)
    project.refuse_overlap(request, run.key)
    ledger, code, resumed = project.ledger(pipeline), project.code_of(pipeline), project.backfills().find(run.key)
    return select(request, ledger, spec.intervals.interval_length, code, resumed.id if resumed else "")


def _plan_task(pipeline: str, open_project: OpenProject) -> Any:  # noqa: ANN401 - Airflow's decorators hide the type
    @task.short_circuit(
        task_id="plan",
        multiple_outputs=False,  # said, Airflow need not find it out from the types, for every DAG
        doc_md="Reads the form or the partition and the ledger; refuses what overlaps. Its log says what is taken.",
    )
    def plan(**context: Any) -> dict[str, Any] | None:  # noqa: ANN401 - Airflow's context
        """Return what to run; None (a dry run) skips the rest."""
        run = run_of(context["dag_run"])
        with retried_only_if_unknown():
            project = open_project()
            selection = select_for(project, pipeline, context["params"], run)
        if not selection.taken:
            raise _nothing(selection, run)
        spec = project.catalog.pipelines[pipeline]
        planned = backfill_request.plan(selection, run.key, spec.backfill.chunk)
        log.info("%s", described(planned))
        if not context["params"]["dry_run"]:
            return planned
        context["ti"].xcom_push("plan", planned)
        log.info("It is a dry run: nothing is run.")
        return None

    return plan


def _nothing(selection: Selection, run: Run) -> AirflowSkipException | AirflowFailException:
    """Return how a run ends that has nothing to do: red, unless it only came before its intervals closed."""
    why = backfill_request.nothing_to_do(selection)
    if run.partition is not None and backfill_request.nothing_closed(selection):
        return AirflowSkipException(why)
    return AirflowFailException(why)


def described(planned: Mapping[str, Any]) -> str:
    """Return a plan for the log."""
    what = planned["mode"] if planned["only"] == Only.ALL else f"{planned['mode']} (only {planned['only']})"
    lines = [
        f"{what} of {planned['intervals']} intervals in {planned['chunks']} chunks, for {planned['by']}",
        *(f"  takes {piece}" for piece in planned["ranges"]),
        *(f"  leaves {reason}" for reason in planned["left"]),
    ]
    return "\n".join(lines)


def _report_task(open_project: OpenProject) -> Any:  # noqa: ANN401 - Airflow's decorators hide the type
    @task(task_id="report", multiple_outputs=True, doc_md="Says what came of it.")
    def report(**context: Any) -> dict[str, Any]:  # noqa: ANN401 - Airflow's context
        """Return the result in short."""
        run = run_of(context["dag_run"])
        with retried_only_if_unknown():
            project = open_project()
            found = project.backfills().find(run.key)
            if found is None:
                raise SpecError(f"run {run.run_id} has claimed no backfill.", fix="look at the log of `run`.")
            result = read_result(project, found)
        pages = "".join(f"\n  {page}: {address_of(backfill_page(found.id, page))}" for page in BACKFILL_PAGES)
        log.info("%s%s", result["summary"], pages)
        return result

    return report


def _tell_task(spec: PipelineSpec, open_project: OpenProject) -> Any:  # noqa: ANN401 - Airflow's decorators hide the type
    alias = published(spec.intervals.table)

    @task(
        task_id="tell",
        multiple_outputs=False,
        trigger_rule="all_done",  # a run that failed may have published before
        outlets=[alias],
        doc_md="Tells other DAGs that intervals were published, also by a run that failed later.",
    )
    def tell(**context: Any) -> None:  # noqa: ANN401 - Airflow's context
        """Emit the asset's event if the ledger says that this run owns intervals."""
        with retried_only_if_unknown():
            project = open_project()
            found = project.backfills().find(run_of(context["dag_run"]).key)
            owned = () if found is None else intervals_of(project.ledger(spec.name), found.id)
        if found is None or not owned:
            raise AirflowSkipException("It published nothing.")
        extra = {"backfill": found.id, "from": owned[0].start.isoformat(), "to": owned[-1].end.isoformat()}
        context["outlet_events"][alias].add(output_table(spec.intervals.table), extra=extra)

    return tell


def intervals_of(ledger: Ledger, backfill: str) -> Sequence[Interval]:
    """Return the intervals that a backfill has published and that nobody has written since, in order."""
    return [row.interval for row in ledger.rows.values() if row.current and row.current.owner == backfill]


def read_result(project: Project, found: Backfill) -> dict[str, Any]:
    """Return a backfill's result in short: small, whatever its size."""
    file = project.folder.backfill(found.id) / "result.json"
    result = json.loads(file.read_text(encoding="utf-8"))
    summary = (
        f"{found.request.mode} {found.id}: {result['outcome']}; {result['compared']} intervals compared, "
        f"{result['published']} published; {result['late_records']} late records, "
        f"{result['unexplained']} unexplained differences"
    )
    return {
        "backfill": found.id,
        "outcome": str(result["outcome"]),
        "published": int(result["published"]),
        "summary": summary,
    }


def _form(spec: PipelineSpec) -> dict[str, Param]:
    # No `format: date-time`: Airflow's picker would take what is typed for a time in the zone of whoever looks.
    instant: dict[str, Any] = {"type": ["null", "string"]}
    return {
        "from": Param(
            None,
            **instant,
            title="From",
            description_md="Inclusive, in UTC: `2013-01-01`, or `2013-01-01T05:00Z`. A scheduled run takes its day.",
        ),
        "to": Param(None, **instant, title="To", description_md="Exclusive, in UTC: `2013-01-08`."),
        "mode": Param(
            spec.backfill.mode,
            type="string",
            enum=[mode.value for mode in Mode],
            values_display={
                Mode.VERIFY.value: "Verify: compare with what the stream wrote, publish nothing",
                Mode.CORRECT.value: "Correct: bring late records into what is verified",
                Mode.RECOMPUTE.value: "Recompute: publish what today's code gives",
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
        "reason": Param(
            "",
            type="string",
            maxLength=500,
            title="Reason",
            description_md="Goes on record beside your name. A recompute of healthy intervals needs one.",
        ),
        "dry_run": Param(False, type="boolean", title="Dry run", description_md="Plan only; see the log of `plan`."),
    }


def _documentation(spec: PipelineSpec) -> str:
    cron = spec.backfill.schedule
    when = f"`{cron}` (UTC), in mode `{spec.backfill.mode}`, for the day before" if cron else "only when asked"
    return f"""# Backfill of `{spec.name}`

A batch over closed intervals of `{spec.intervals.table}`: raw table → validation → transform → stage → quality gate →
publish, with the stream's own functions.

By the clock: {when}. By hand: **Trigger** with `from` and `to` (whole {spec.intervals.interval}s). Many days:
Airflow's own **Backfill**, one run per day.

`plan` says what is taken and why the rest is not; `run` is one Spark application in the pool `spark_batch`; `report`
says what came of it and links to the pages; `tell` starts the quality DAG if intervals were published.

A red `run` means: different, or the gate failed, and the previous result is served. It is not retried; its last line
says what to do. A killed run, cleared, resumes what is not done.
"""
