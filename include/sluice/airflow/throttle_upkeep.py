"""The DAG `lift_throttles`: removes what a killed move has left, so that no throttle outlives its move."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from airflow.sdk import DAG, CronTriggerTimetable, task

from sluice.airflow.conventions import Tag, house_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.runtime import open_project
from sluice.clock import Clock, SystemClock
from sluice.project import Project
from sluice.topics.left_throttle import lift_left_throttles

log = logging.getLogger(__name__)

DAG_ID = "lift_throttles"


def build_lift_throttles_dag(*, open_project: Callable[[], Project] = open_project, clock: Clock | None = None) -> DAG:
    """Build the DAG.

    Args:
        open_project: gives the project at run time.
        clock: to wait by.
    """
    with house_dag(
        DAG_ID,
        doc=__doc__ or "",
        description="Removes throttles under which nothing moves any more.",
        tags=(Tag.TOPICS, Tag.UPKEEP),
        schedule=CronTriggerTimetable("7-59/15 * * * *", timezone="UTC"),
    ) as dag:

        @task(
            task_id="lift",
            execution_timeout=timedelta(minutes=10),
            doc_md="Looks for throttles; where nothing has moved for a minute, removes them.",
        )
        def lift() -> list[str]:
            """Return the topics that had one."""
            with retried_only_if_unknown():
                project = open_project()
                topics = project.catalog.kafka_topics()
                lifted = lift_left_throttles(project.administration(), topics, clock or SystemClock())
            for topic in lifted:
                log.warning("%s: a move that was killed had left a throttle; it is gone.", topic)
            return list(lifted)

        lift()
    return dag
