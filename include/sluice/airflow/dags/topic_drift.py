"""The DAG `topic_drift`: checks by the clock whether topics and access are as declared, and fails for each that is not.

It repairs nothing: that is the DAG `topics`, when it is triggered. A topic calls once, when it begins to differ or
differs in something else, then daily, and once more when it is as declared again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, CronTriggerTimetable
from airflow.sdk.exceptions import AirflowFailException

from sluice.airflow import runtime
from sluice.airflow.alerts.alerting import FailureNotifier
from sluice.airflow.alerts.failure import printable
from sluice.airflow.alerts.recoveries import Recovered, notify_recoveries
from sluice.airflow.dags.conventions import Tag, sluice_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.rounds import AskedOfAirflow, Found, RoundOperator, RoundTrigger
from sluice.airflow.topics.topic_plans import MAX_NAMES, differences, log_table, plan_of
from sluice.alerts.alert import Level
from sluice.alerts.incidents import Key
from sluice.clock import SystemClock
from sluice.errors import SluiceError
from sluice.project.project import Project
from sluice.provisioning.plans.assignments import PLACEMENT
from sluice.provisioning.plans.changes import ChangeKind, is_principal
from sluice.provisioning.plans.plan import Plan
from sluice.specs.model.alerting import AlertClass
from sluice.wording import listed

log = logging.getLogger(__name__)

DAG_ID = "topic_drift"
EVERY = "*/15 * * * *"
"""When it checks (cron, UTC)."""

MAX_TOPICS = 100
"""That call each for themselves; a cluster that was made again is one event."""

THE_REST = "the rest of the topics"

FIX = (
    "read `sluice topics plan`; then trigger the DAG `topics`, which asks for approval of anything that is not safe, "
    "or change the spec. Nothing was repaired."
)


def build_topic_drift_dag() -> DAG:
    """Build the DAG."""
    with sluice_dag(
        DAG_ID,
        doc=__doc__ or "",
        description="Fails for each topic that is not as declared. Repairs nothing.",
        tags=(Tag.TOPICS, Tag.UPKEEP),
        schedule=CronTriggerTimetable(EVERY, timezone="UTC"),
        dagrun_timeout=timedelta(minutes=10),
        on_failure_callback=FailureNotifier(Level.DAG, tasks_notify=True),
    ) as dag:
        compare = CompareOperator(
            task_id="compare",
            in_triggerer=DriftTrigger,
            doc_md="Compares, and changes nothing. Red only if Kafka could not be queried, which is no drift.",
        )
        TopicDriftOperator.partial(
            task_id="drifted",
            map_index_template="{{ task.topic }}",
            retries=0,  # the next check decides again
            doc_md="One for each topic that is not as declared; skipped if there is none.",
        ).expand_kwargs(compare.output)
    return dag


class CompareOperator(RoundOperator):
    """Compares the specs with the cluster."""

    alert_subject = "the check of all topics"


class DriftTrigger(RoundTrigger):
    """Compares the specs with the cluster."""

    def round(self, ti: AskedOfAirflow) -> Found:
        """Return the arguments of one `TopicDriftOperator` per topic that is not as declared, and report what is over.

        Raises:
            UnreachableError: Kafka or the control database could not be queried.
        """
        _ = ti
        with retried_only_if_unknown():
            project = runtime.open_project()
            plan = plan_of(project)
            unused = unused_topics(project, plan)
        log.info("%s", log_table(plan))
        if unused:
            log.info(
                "Absent, and no stream of it was ever started, so there is no alert: %s.", listed(unused, MAX_NAMES)
            )
        reported = to_report({topic: what for topic, what in differences(plan).items() if topic not in unused})
        notify_recoveries(DAG_ID, proof_of(plan, {each["subject"] for each in reported}), SystemClock())
        return reported


class TopicDriftOperator(BaseOperator):
    """Fails with the differences of one topic: a sentence. `topic` is its name, or how many more there are."""

    def __init__(self, *, topic: str, subject: str, differences: str, **arguments: Any) -> None:  # noqa: ANN401 - BaseOperator's
        super().__init__(**arguments)
        self.topic = topic
        self.alert_subject = subject
        self.alert_class = AlertClass.DRIFT
        self.differences = differences

    def execute(self, context: Context) -> None:
        """Fail.

        Raises:
            AirflowFailException: always.
        """
        _ = context
        drift = SluiceError(self.differences, fix=FIX)
        raise AirflowFailException(str(drift)) from drift


def unused_topics(project: Project, plan: Plan) -> list[str]:
    """Return the topics that do not exist yet and of which no stream was ever wanted: a spec lies there, no more.

    Raises:
        UnreachableError: the control database could not be queried.
    """
    missing = [change.subject for change in plan.changes if change.kind is ChangeKind.CREATE]
    units = {topic: project.catalog.units_at(topic) for topic in missing}
    wanted = {
        unit for unit in frozenset().union(*units.values()) if not project.streams.life(unit).observe().never_requested
    }
    return [topic for topic, at in units.items() if at and not at & wanted]


def to_report(drifted: Mapping[str, Sequence[str]]) -> Found:
    """Return what the mapped tasks are given; if there are very many, the last one stands for the rest."""
    alone = list(drifted) if len(drifted) <= MAX_TOPICS else list(drifted)[: MAX_TOPICS - 1]
    rest = list(drifted)[len(alone) :]
    reported: Found = [
        {
            "topic": topic,
            "subject": f"principal {topic}" if is_principal(topic) else f"topic {topic}",
            "differences": printable(f"{topic} is not as declared: {'; '.join(drifted[topic])}."),
        }
        for topic in alone
    ]
    if rest:
        sentence = f"{listed(rest, MAX_NAMES)} are not as declared; the log of `compare` says in what."
        reported.append({"topic": f"{len(rest)} more", "subject": THE_REST, "differences": sentence})
    return reported


def proof_of(plan: Plan, still: Collection[str]) -> Callable[[Key], Recovered | None]:
    """Return what says which incidents a plan ends: those of subjects that it has judged, and finds as declared.

    Args:
        plan: a whole comparison: a cluster that does not answer has none.
        still: the subjects that differ.
    """
    unjudged = {f"topic {kept.subject}" for kept in plan.kept if kept.value == PLACEMENT}
    proof = Recovered(f"The DAG {DAG_ID} has checked it, and nothing is wrong with it any more.")
    return lambda key: None if key[0] in {*still, *unjudged} else proof
