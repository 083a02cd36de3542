"""The DAG `remove_old_records`: keeps logs, reports and Airflow's own history from growing for ever."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, CronTriggerTimetable, task

from sluice.airflow import runtime
from sluice.airflow.dags.conventions import Tag, sluice_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.clock import SystemClock
from sluice.devstack.airflow.history import remove_history
from sluice.launch.run_folders import pipeline_of, remove_ended, unit_of
from sluice.project.project import Project
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.folder import remove_folder, untouched_since

log = logging.getLogger(__name__)

RUNS_DAYS, HISTORY_DAYS = 90, 30

DOCUMENTATION = f"""# Records

Every driver, batch and proof leaves a folder with its log and reports, and every run its rows in Airflow and the logs
of its tasks. `remove` removes folders that nothing has changed for {RUNS_DAYS} days, but for the newest 20 of each unit
and pipeline; and of the embedded Airflow, by its own `airflow db clean`, what is older than {HISTORY_DAYS} days.
What Sluice's control database says of attempts, backfills and alerts stays. It may be repeated.
"""


def build_remove_old_records_dag() -> DAG:
    """Build the DAG."""
    with sluice_dag(
        "remove_old_records",
        doc=DOCUMENTATION,
        description="Removes old logs and reports of drivers and batches, and old runs of the embedded Airflow.",
        tags=(Tag.UPKEEP,),
        schedule=CronTriggerTimetable("23 3 * * *", timezone="UTC"),
    ) as dag:

        @task(
            task_id="remove",
            execution_timeout=timedelta(hours=1),
            doc_md="Removes them; the log says what.",
        )
        def remove() -> dict[str, int]:
            """Return how many folders and files of logs were removed."""
            with retried_only_if_unknown():
                return remove_old_records(runtime.open_project(), SystemClock().now())

        remove()
    return dag


def remove_old_records(project: Project, now: datetime) -> dict[str, int]:
    """Remove what is older than its time, and return how many folders, or files of Airflow's logs, by what they are.

    Raises:
        NotReadyError: Airflow's history could not be removed; the rest was.
    """
    folder, before = project.folder, now - timedelta(days=RUNS_DAYS)
    removed = {}
    for name, path, owner_of in (
        ("drivers", folder.drivers, unit_of),
        ("backfills", folder.backfills, pipeline_of),
        ("proofs", folder.proofs, pipeline_of),
        ("staging", folder.staging, pipeline_of),
    ):
        names = remove_ended(path, before, owner_of) if isinstance(path, Path) else _removed(path, before)
        removed[name] = len(names)
        if names:
            log.info("Removed %d folders of %s, %s to %s", len(names), name, names[0], names[-1])
    logs = remove_history(project.settings, now - timedelta(days=HISTORY_DAYS))
    return removed if logs is None else {**removed, "task_logs": logs}


def _removed(folder: BucketFolder, before: datetime) -> list[str]:
    """Remove what backfills that ended long ago have left in a bucket, and return its names."""
    old = untouched_since(folder, before)
    for each in old:
        remove_folder(each)
    return sorted(each.name for each in old)
