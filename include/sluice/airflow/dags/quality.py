"""The DAGs `quality_<pipeline>`: the suite on the published table, by the clock and after each publish."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from airflow.sdk import DAG, Context
from airflow.sdk.exceptions import AirflowSkipException
from airflow.timetables.assets import AssetOrTimeSchedule
from airflow.timetables.trigger import CronTriggerTimetable

from sluice.airflow import runtime
from sluice.airflow.batches.assets import output_table
from sluice.airflow.batches.spark_batch import BatchOperator
from sluice.airflow.dags.conventions import Tag, is_parsed, sluice_dag
from sluice.airflow.dags.specs import scan_for_dags
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.links import TableQualityLink
from sluice.intervals.alignment import Interval
from sluice.specs.catalog.dag_ids import quality_dag_id
from sluice.specs.expectations.model import Frequency
from sluice.specs.model.model import PipelineSpec

TIMES: Mapping[Frequency, str] = {Frequency.DAILY: "30 6 * * *", Frequency.HOURLY: "40 * * * *"}
"""When the table is checked though nothing was published (cron, UTC): daily, after the nightly backfills."""

LONGEST_CHECK = timedelta(hours=4)


def build_quality_dags() -> list[DAG]:
    """Build the DAG of every sound pipeline that has a suite."""
    catalog = scan_for_dags().catalog
    guarded = {suite.pipeline: suite.check for suite in catalog.expectations.values() if suite.gate is not None}
    return [
        build_quality_dag(spec, guarded[name])
        for name, spec in catalog.interval_pipelines.items()
        if name in guarded and is_parsed(quality_dag_id(name))
    ]


def build_quality_dag(spec: PipelineSpec, rhythm: Frequency = Frequency.DAILY) -> DAG:
    """Build the DAG of one pipeline."""
    with sluice_dag(
        quality_dag_id(spec.name),
        doc=_documentation(spec, TIMES[rhythm]),
        description=f"Runs the suite of {spec.name} on its published table.",
        tags=(Tag.QUALITY,),
        owner=spec.owner,
        schedule=AssetOrTimeSchedule(
            timetable=_clock(TIMES[rhythm]),
            assets=[output_table(spec.intervals.table)],  # type: ignore[list-item]  # it takes the SDK's, too
        ),
    ) as dag:
        QualityOperator(
            task_id="check",
            pipeline=spec.name,
            execution_timeout=LONGEST_CHECK,
            doc_md="One Spark application. Red without retries when the suite does not hold.",
        )
    return dag


@cache
def _clock(cron: str) -> CronTriggerTimetable:
    return CronTriggerTimetable(cron, timezone="UTC")  # one for all, see `sluice.airflow.dags.backfills`


class QualityOperator(BatchOperator):
    """Checks what was published, or what is recent if the clock asks."""

    operator_extra_links = (TableQualityLink(),)

    def execute(self, context: Context) -> None:
        """Check the table; without a closed interval there is nothing to check yet."""
        with retried_only_if_unknown():
            ledger = runtime.open_project().tables.ledger(self.pipeline)
        if ledger.closed_until is None:
            raise AirflowSkipException(f"No interval of {self.pipeline} is closed yet: there is nothing to check.")
        super().execute(context)

    def span(self, context: Context) -> Interval | None:
        """Return the range that was published, if an event says which."""
        bounds = _bounds(context)
        return Interval(*(datetime.fromisoformat(bounds[name]) for name in ("from", "to"))) if bounds else None

    def batch_arguments(self, context: Context) -> Sequence[str]:
        """Return the main's arguments."""
        bounds = _bounds(context)
        return ("quality", f"--pipeline={self.pipeline}", *(f"--{name}={at}" for name, at in bounds.items()))


def _bounds(context: Context) -> dict[str, str]:
    triggering = [event for events in context["triggering_asset_events"].values() for event in events]
    return published_range(event.extra for event in triggering)


def published_range(extras: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the bounds of all that was published, as `from` and `to`; empty if no event says."""
    ranges = [(extra["from"], extra["to"]) for extra in extras if "from" in extra and "to" in extra]
    if not ranges:
        return {}
    starts, ends = zip(*ranges, strict=True)
    return {"from": min(starts, key=datetime.fromisoformat), "to": max(ends, key=datetime.fromisoformat)}


def _documentation(spec: PipelineSpec, cron: str) -> str:
    return f"""# Quality of `{spec.intervals.table}`

Runs the suite of `{spec.name}` on the published table: after each publish on the published range, and by the clock
(`{cron}`, UTC) on the recent past. What must hold of each interval is judged once for what the interval holds.

The gate of a backfill checks rows before they are published. This DAG checks what readers have, the stream's rows
included. A red `check` names what does not hold; its link opens the newest page. Nothing is changed.
"""
