"""The tasks of the DAGs `backfill_<pipeline>`: plan, run as one Spark application, report, publish the asset."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from sluice.airflow import runtime
from sluice.airflow.batches import backfill_request
from sluice.airflow.batches.assets import output_table, published
from sluice.airflow.batches.backfill_request import Run
from sluice.airflow.batches.spark_batch import BatchOperator
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.links import BACKFILL_PAGES, ParityLink, QualityLink, address_of, backfill_page
from sluice.airflow.project_operator import DecidingOperator, ProjectOperator
from sluice.errors import SluiceError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.intervals.backfill.request import Mode, Only, Request, StaticChoice
from sluice.intervals.backfill.selection import Selection, select
from sluice.intervals.ledger import Ledger
from sluice.project.project import Project


class PlanOperator(DecidingOperator):
    """Reads the form or the partition and the ledger, and returns what to run. A dry run ends with it."""

    def execute(self, context: Context) -> dict[str, Any]:
        """Return what to run.

        Raises:
            AirflowFailException: nothing of what was asked for can be run, or it is refused.
            AirflowSkipException: a run by the clock came before its intervals closed.
        """
        run = run_of(context["dag_run"])
        with retried_only_if_unknown():
            project = runtime.open_project()
            selection = select_for(project, self.subject, context["params"], run)
        if not selection.taken:
            early = run.partition is not None and backfill_request.nothing_closed(selection)
            raise (AirflowSkipException if early else AirflowFailException)(backfill_request.nothing_to_do(selection))
        planned = backfill_request.plan(selection, run.key, project.catalog.pipelines[self.subject].backfill.chunk)
        self.log.info("%s", described(planned))
        if context["params"]["dry_run"]:
            context["ti"].xcom_push("plan", planned)
            self.log.info("It is a dry run: nothing is run.")
            self.skip_rest(context)
        return planned


class BackfillOperator(BatchOperator):
    """Runs what the task `plan` of the same run has planned."""

    operator_extra_links = (ParityLink(), QualityLink())
    backfill_id: str | None = None
    """The backfill on record, once the main has claimed it."""

    def execute(self, context: Context) -> None:
        """Run it; whatever came of it, the links name its pages."""
        run = run_of(context["dag_run"])
        before = self._claimed(run)
        self._submit_on_record(context)
        try:
            super().execute(context)
        except AirflowException as error:
            backfill = self._claimed(run)
            if backfill is not None and _was_cancelled(before, backfill):
                raise _cancelled(backfill, error) from error
            raise
        finally:
            backfill = self._claimed(run)
            if backfill is not None and backfill.state is BackfillState.SUBMITTED:
                self._withdraw(backfill)
            elif backfill is not None:
                self.backfill_id = backfill.id

    def _claimed(self, run: Run) -> Backfill | None:
        try:
            return runtime.open_project().records.backfills().find(run.key)
        except SluiceError as error:
            self.log.warning("The record of this backfill could not be read, so links may stay empty: %s", error)
            return None

    def _submit_on_record(self, context: Context) -> None:
        """Let it be listed, and cancelled, from now on: Spark may take minutes to start on a busy machine."""
        planned = context["ti"].xcom_pull(task_ids="plan")
        with retried_only_if_unknown():
            project = runtime.open_project()
            request, alive = requested(self.pipeline, planned), project.processes.backfill_lock
            project.records.backfills().submit(request, planned["key"], alive=lambda other: alive(other).held())

    def _withdraw(self, backfill: Backfill) -> None:
        """Record the end of what has not begun, so that it is not listed for ever."""
        why = "its process ended before it claimed its range; the log of the task says why"
        try:
            runtime.open_project().records.backfills().end(backfill.id, BackfillState.FAILED, outcome="", why=why)
        except SluiceError as error:
            self.log.warning("The end of %s could not be recorded: %s", backfill.id, error)

    def span(self, context: Context) -> Interval:
        """Return the range that was planned."""
        return range_planned(context["ti"].xcom_pull(task_ids="plan"))

    def batch_arguments(self, context: Context) -> Sequence[str]:
        """Return the main's arguments."""
        planned = context["ti"].xcom_pull(task_ids="plan")
        options = {
            "--pipeline": self.pipeline,
            **{f"--{name}": str(planned[name]) for name in _OPTIONS if name in planned},
        }
        return ("backfill", "--submitted", *(f"{name}={value}" for name, value in options.items()))


class ReportOperator(ProjectOperator):
    """Says what came of it."""

    def execute(self, context: Context) -> dict[str, Any]:
        """Return the result in short.

        Raises:
            AirflowFailException: nothing is on record.
        """
        run = run_of(context["dag_run"])
        with retried_only_if_unknown():
            project = runtime.open_project()
            owned = project.records.backfills().find(run.key)
            if owned is None:
                raise SpecError(f"run {run.run_id} has claimed no backfill.", fix="read the log of `run`.")
            result = read_result(project, owned)
        pages = "".join(f"\n  {page}: {address_of(backfill_page(owned.id, page))}" for page in BACKFILL_PAGES)
        self.log.info("%s%s", result["summary"], pages)
        return result


class PublishAssetOperator(ProjectOperator):
    """Emits the event of the output table's asset if the ledger says that this run owns intervals."""

    def __init__(self, *, table: str, **arguments: Any) -> None:  # noqa: ANN401 - ProjectOperator's
        super().__init__(**{"outlets": [published(table)], **arguments})
        self.table = table

    def execute(self, context: Context) -> None:
        """Emit it, or skip."""
        with retried_only_if_unknown():
            project = runtime.open_project()
            claimed = project.records.backfills().find(run_of(context["dag_run"]).key)
            owned = () if claimed is None else intervals_of(project.tables.ledger(self.subject), claimed.id)
        if claimed is None or not owned:
            raise AirflowSkipException("It published nothing.")
        extra: dict[str, Any] = {
            "backfill": claimed.id,
            "from": owned[0].start.isoformat(),
            "to": owned[-1].end.isoformat(),
        }
        context["outlet_events"][published(self.table)].add(output_table(self.table), extra=extra)


def _was_cancelled(before: Backfill | None, backfill: Backfill) -> bool:
    """Whether it was cancelled since this try began: a cleared task finds the old cancellation on record."""
    known = before is not None and bool(before.cancel_requested_by) and before.claimed_at == backfill.claimed_at
    return bool(backfill.cancel_requested_by) and not known


def _cancelled(backfill: Backfill, error: AirflowException) -> AirflowFailException:
    """Return what ends a cancelled run for good: Airflow's next try would take the backfill up again."""
    return AirflowFailException(
        f"{backfill.cancel_requested_by} cancelled {backfill.id}: it is not tried again. "
        f"Clear this task to resume it. ({error})"
    )


_OPTIONS = ("from", "to", "mode", "only", "by", "why", "accepts", "static", "key")


def range_planned(planned: Mapping[str, Any]) -> Interval:
    """Return the range of a plan."""
    return Interval(datetime.fromisoformat(planned["from"]), datetime.fromisoformat(planned["to"]))


def requested(pipeline: str, planned: Mapping[str, Any]) -> Request:
    """Return the request that a plan was made for."""
    mode, only = Mode(planned["mode"]), Only(planned["only"])
    static = StaticChoice(planned.get("static", StaticChoice.RECORDED))  # a run may have been planned before there was
    by, why, accepts = planned["by"], planned["why"], planned.get("accepts", "")
    return Request(pipeline, range_planned(planned), mode, by, why, only, accepts, static=static)


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
        RefusedError: another backfill works on a part of the range, a recompute has no reason, or no gate has stopped
            what is to be accepted.
        UnreachableError: the control database could not be queried.
    """
    spec = project.catalog.pipelines.get(pipeline)
    if spec is None:
        raise SpecError(f"there is no sound pipeline {pipeline!r}.", fix="run `sluice check` and repair it.")
    accepts = str(form.get("accepts") or "")
    failed = project.records.backfills().get(accepts) if accepts else None
    request = backfill_request.request_of(spec, form, run, failed)
    project.processes.refuse_overlap(request, run.key)
    ledger, code, resumed = (
        project.tables.ledger(pipeline),
        project.code_of(pipeline),
        project.records.backfills().find(run.key),
    )
    return select(request, ledger, spec.intervals.interval_length, code, resumed.id if resumed else "")


def described(planned: Mapping[str, Any]) -> str:
    """Return a plan for the log."""
    what = planned["mode"] if planned["only"] == Only.ALL else f"{planned['mode']} (only {planned['only']})"
    lines = [
        f"{what} of {planned['intervals']} intervals in {planned['chunks']} chunks, for {planned['by']}",
        *(f"  takes {piece}" for piece in planned["ranges"]),
        *(f"  leaves {reason}" for reason in planned["left"]),
    ]
    return "\n".join(lines)


def intervals_of(ledger: Ledger, backfill: str) -> Sequence[Interval]:
    """Return the intervals that a backfill has published and that were not written since, in order."""
    own = (row for row in ledger.spans if row.current and row.current.owner == backfill)
    return [single.interval for row in own for single in row.each()]


def read_result(project: Project, claimed: Backfill) -> dict[str, Any]:
    """Return a backfill's result in short: small, whatever its size."""
    file = project.folder.backfill(claimed.id) / "result.json"
    result = json.loads(file.read_text(encoding="utf-8"))
    summary = (
        f"{claimed.request.mode} {claimed.id}: {result['outcome']}; {result['compared']} intervals compared, "
        f"{result['published']} published; {result['late_records']} late records, "
        f"{result['unexplained']} unexplained differences"
    )
    return {
        "backfill": claimed.id,
        "outcome": str(result["outcome"]),
        "published": int(result["published"]),
        "summary": summary,
    }
