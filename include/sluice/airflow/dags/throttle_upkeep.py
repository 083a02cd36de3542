"""The DAG `lift_throttles`: removes what a killed move has left, so that no throttle outlives its move."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Context, CronTriggerTimetable

from sluice.airflow import runtime
from sluice.airflow.dags.conventions import Tag, sluice_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.rounds import AskedOfAirflow, Found, RoundOperator, RoundTrigger
from sluice.clock import Clock, SystemClock
from sluice.provisioning.replicas.stale_throttle import remove_stale_throttles, throttled

log = logging.getLogger(__name__)

DAG_ID = "lift_throttles"


def build_lift_throttles_dag(*, clock: Clock | None = None) -> DAG:
    """Build the DAG."""
    with sluice_dag(
        DAG_ID,
        doc=__doc__ or "",
        description="Removes throttles under which nothing moves any more.",
        tags=(Tag.TOPICS, Tag.UPKEEP),
        schedule=CronTriggerTimetable("7-59/15 * * * *", timezone="UTC"),
    ) as dag:
        LiftOperator(
            task_id="lift",
            clock=clock or SystemClock(),
            execution_timeout=timedelta(minutes=10),
            doc_md="Checks for throttles; where nothing has moved for a minute, removes them. Skipped without any.",
        )
    return dag


class LiftOperator(RoundOperator):
    """Looks for throttles in the triggerer, and removes them in a worker, which may wait."""

    def __init__(self, *, clock: Clock, **arguments: Any) -> None:  # noqa: ANN401 - BaseOperator's
        super().__init__(in_triggerer=ThrottleTrigger, in_worker=lambda _: self._lifted(), **arguments)
        self._clock = clock

    def take_over(self, context: Context, event: dict[str, Any]) -> Found:
        """Check again, and remove what is left."""
        _ = context, event
        return self._lifted()

    def _lifted(self) -> Found:
        with retried_only_if_unknown():
            project = runtime.open_project()
            with project.kafka.administration() as administration:
                lifted = remove_stale_throttles(administration, project.catalog.kafka_topics(), self._clock)
        for topic in lifted:
            log.warning("%s: a move that was killed had left a throttle; it is gone.", topic)
        return [{"topic": topic} for topic in lifted]


class ThrottleTrigger(RoundTrigger):
    """Checks in the triggerer."""

    def round(self, ti: AskedOfAirflow) -> Found:
        """Do it."""
        _ = ti
        with retried_only_if_unknown():
            project = runtime.open_project()
            with project.kafka.administration() as administration:
                return [{"topic": topic} for topic in throttled(administration, project.catalog.kafka_topics())]
