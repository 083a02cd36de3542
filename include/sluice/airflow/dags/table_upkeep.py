"""The DAG `compact_tables`: keeps the tables that streams append to from growing in records, files and commits."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from airflow.sdk import DAG, CronTriggerTimetable, task

from sluice.airflow import runtime
from sluice.airflow.dags.conventions import Tag, sluice_dag
from sluice.airflow.dags.ledger_upkeep import act_on_each, tables_of_streams
from sluice.airflow.failures import retried_only_if_unknown
from sluice.clock import SystemClock
from sluice.project.project import Project
from sluice.project.upkeep.raw_retention import Retained, retain, retaining_topics

if TYPE_CHECKING:
    from sluice.delta.upkeep import UpkeepDone

log = logging.getLogger(__name__)

DOCUMENTATION = """# Table upkeep

A stream that commits every few seconds leaves a small file and a commit each time. For every raw table, every table of
record-level rows and every log of deliveries, `compact` joins small files whose commits are older than 20 minutes,
removes files and commits that no reader can still be at (a day old), and keeps a copy of what these commits said.
Streams go on meanwhile: whatever they commit wins. Nothing is removed while a backfill or check is running that began
more than half a day ago. It may be repeated. Interval tables are left alone: parity reads what was published.

`retain` removes raw records by their age. Of a topic with `raw.retention` it puts on record from when on the raw table
has every record, then removes what is older. What an interval needs that is open, dirty or at work in a backfill, and
what a stream has not read, stays; the log says what keeps it. Earlier intervals cannot be computed again from then on.
"""

_LONG = timedelta(hours=12)
"""What has begun so long ago may read versions that are about to be removed."""


def build_compact_tables_dag() -> DAG:
    """Build the DAG."""
    with sluice_dag(
        "compact_tables",
        doc=DOCUMENTATION,
        description="Joins the small files of streams, and removes files and commits that nobody reads any more.",
        tags=(Tag.UPKEEP,),
        schedule=CronTriggerTimetable("11,41 * * * *", timezone="UTC"),
    ) as dag:

        @task(
            task_id="compact",
            execution_timeout=timedelta(hours=1),
            doc_md="Joins and removes; the log says what, by table.",
        )
        def compact() -> dict[str, int]:
            """Return how many files were joined and removed, and how many commits were cut off, over all tables."""
            from sluice.delta.upkeep import total  # noqa: PLC0415 - parsing must not pay for Delta

            with retried_only_if_unknown():
                return total(compact_tables(runtime.open_project(), SystemClock().now()).values())

        @task(
            task_id="retain",
            execution_timeout=timedelta(hours=1),
            doc_md="Removes raw records by their age; the log says by topic how far, and what keeps the others.",
        )
        def retain_records() -> int:
            """Return how many records were removed, over all topics."""
            with retried_only_if_unknown():
                return sum(done.removed for done in retain_raw(runtime.open_project(), SystemClock().now()).values())

        retain_records()
        compact()
    return dag


def compact_tables(project: Project, now: datetime) -> dict[str, UpkeepDone]:
    """Look after every table that a stream appends to, and return what was done, by table.

    Raises:
        CorruptionError: the log of some table cannot be read; the others were looked after.
        UnreachableError: the control database could not be queried, or see `act_on_each`.
    """
    from sluice.delta.upkeep import look_after  # noqa: PLC0415 - parsing must not pay for Delta

    pinned = any(each.claimed_at < now - _LONG for each in project.processes.backfills_at_work())
    folder = project.folder.table
    names = [name for name in tables_of_streams(project.catalog) if folder(name).exists()]
    return act_on_each(names, lambda name: look_after(folder(name), now, pinned=pinned))


def retain_raw(project: Project, now: datetime) -> dict[str, Retained]:
    """Remove the records of every raw table that are older than its topic's spec keeps them, by topic.

    Raises:
        CorruptionError: of some topic that cannot be decided; the others were looked after.
        UnreachableError: see `act_on_each`.
    """
    return act_on_each(retaining_topics(project), lambda topic: retain(project, topic, now))
