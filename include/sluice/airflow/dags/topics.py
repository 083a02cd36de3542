"""The DAG `topics`: makes topics and access what is declared, with approval where needed, and checks again."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param, TriggerRule, task
from airflow.sdk.exceptions import AirflowFailException

from sluice.airflow import runtime
from sluice.airflow.dags.conventions import Tag, give_form, sluice_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.topics.growth_following import FOLLOW_MINUTES, GrowthOperator
from sluice.airflow.topics.topic_approval import (
    WAIT_HOURS,
    Answer,
    TopicApprovalOperator,
    needs_approval,
    page_of,
)
from sluice.airflow.topics.topic_plans import apply_to, differences, impacts_of, log_table, plan_of, summary
from sluice.audit.recording import remark
from sluice.clock import SystemClock
from sluice.project.project import Project
from sluice.provisioning.growth.adoption import Growth, growths_of
from sluice.provisioning.plans.plan import Plan

log = logging.getLogger(__name__)

LONGEST_COMPARISON = timedelta(minutes=30)
"""Of what needs an approval, the newest records and the streams' positions are checked."""

LONGEST_APPLY = timedelta(hours=12)
"""Replicas are copied under a throttle, a retention is lowered in steps, a topic is drained."""

DOCUMENTATION = """# Topics

`plan` compares `include/topics/` and `include/access/` with the cluster; its log has the table. If all of it is safe
(topics that are made, configurations that change no record, rights that a role needs), `approve` is skipped. Otherwise
`approve` waits for a person: its page **Required Actions** shows the plan, asks for the names of topics of which
records may go and of principals by which something is opened, and takes **Approve** or **Reject**. It holds no worker
while it waits. `apply` does exactly the plan that was on the page, or nothing if the specs or the cluster have changed
since; `verify` checks again. Where topics have grown, `follow` waits until the running streams read the new partitions
from their start and come nearer. A second run changes nothing and says so.

* **Rejected**: the rest is skipped. The log of `approve` says by whom.
* **No answer** within `wait_hours`: `approve` fails, and nothing is applied.
* **Refused**: what no plan does fails `apply` with why and what to do; no question is asked then.
* **Killed anywhere**: trigger the DAG again. What is done already is no difference any more.

Topics without a spec, and configurations that a spec does not name, are left alone. A broken spec is left out
here; the import error of `spec_errors.py` shows it.
"""


def build_topics_dag() -> DAG:
    """Build the DAG."""
    with sluice_dag(
        "topics",
        doc=DOCUMENTATION,
        description="Makes the topics what is declared, asks for approval where that is not safe, and verifies them.",
        tags=(Tag.TOPICS,),
        max_active_runs=16,  # a plan that waits for its approval must not keep another from being made
    ) as dag:
        plan = task(task_id="plan", execution_timeout=LONGEST_COMPARISON, doc_md="Changes nothing.")(planned)
        doc = "Waits for a person, who reads the plan. Skipped if the plan is safe."
        approve = TopicApprovalOperator(task_id="approve", doc_md=doc)
        apply = task(
            task_id="apply",
            trigger_rule=TriggerRule.NONE_FAILED,
            max_active_tis_per_dag=1,
            execution_timeout=LONGEST_APPLY,
            doc_md="Does what is safe or approved, or refuses and changes nothing.",
        )(applied)
        verify = task(task_id="verify", doc_md="Checks again, after the changes.")(verified)
        follow = GrowthOperator(
            task_id="follow",
            retries=1,  # of a killed worker; what takes too long fails for good
            doc_md="Deferred: waits for the streams of topics that grew. Skipped if none did.",
        )
        plan() >> approve >> apply() >> verify() >> follow
    give_form(dag, _form())
    return dag


def planned() -> dict[str, Any]:
    """Return what stands between the specs and the cluster, and the page that asks about it."""
    with retried_only_if_unknown():
        project = runtime.open_project()
        topic_plan = plan_of(project)
        impacts = impacts_of(project, topic_plan) if needs_approval(topic_plan) else {}
    log.info("%s", log_table(topic_plan))
    return {
        "declared": len(project.catalog.kafka_topics()),
        "plan": topic_plan.id,
        "changes": len(topic_plan.changes),
        "to_approve": len(topic_plan.guarded),
        "refused": len(topic_plan.refused),
        "page": page_of(topic_plan, impacts),
        "grows": [growth.as_dict() for growth in growths_of(topic_plan)],
    }


def applied(**context: Any) -> dict[str, Any]:  # noqa: ANN401 - Airflow's context
    """Compare again, apply, and return what was done and who approved it."""
    ti = context["ti"]
    approval = ti.xcom_pull(task_ids="approve")
    answer = None if approval is None else Answer.of(approval)
    with retried_only_if_unknown():
        done = apply_approved(runtime.open_project(), answer, drain_minutes=context["params"]["drain_minutes"])
    outcome = summary(done)
    log.info("%s%s", outcome, f", approved by {answer.by}" if answer else "")
    remark(f"{outcome}, approved by {answer.by}" if answer else outcome)
    ti.xcom_push("grown", grown(ti.xcom_pull(task_ids="plan")["grows"]))
    approved = {} if answer is None else {"plan": answer.plan, "approved_by": answer.by}
    return {"applied": len(done.changes), "summary": outcome, **approved}


def grown(grows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what has grown, when, and what its streams had yet to read then: what `follow` compares with.

    It is what the run has planned, not what this try has done: an earlier try may have died after it.
    """
    growths = [Growth.of(each) for each in grows]
    project = runtime.open_project() if growths else None
    unread = [project.topics.with_unread(growth) for growth in growths] if project else []
    return {"growths": [growth.as_dict() for growth in unread], "at": SystemClock().now().isoformat()}


def verified() -> dict[str, Any]:
    """Return how many topics are as declared; fail if one is not."""
    with retried_only_if_unknown():
        project = runtime.open_project()
        left = plan_of(project)
    if differences(left):
        raise AirflowFailException(f"The cluster is not what the specs declare:\n{log_table(left)}")
    return {"as_declared": len(project.catalog.kafka_topics())}


def apply_approved(project: Project, answer: Answer | None, *, drain_minutes: float | None = None) -> Plan:
    """Apply what was approved, or what is safe if no approval was needed, and return what was done.

    If nothing is left to do, an earlier try has done it.

    Raises:
        RefusedError: nothing was applied; says why.
    """
    if answer is None:
        return apply_to(project, None)
    topic_plan = plan_of(project)
    if not differences(topic_plan):
        log.info("Of the plan %s nothing is left to do.", answer.plan)
        return apply_to(project, None)
    log.info("%s", log_table(topic_plan))
    return apply_to(project, answer.approval(topic_plan), drain_minutes=drain_minutes)


def _form() -> dict[str, Param]:
    return {
        "wait_hours": Param(
            WAIT_HOURS,
            type="number",
            exclusiveMinimum=0,
            maximum=24 * 30,
            title="Hours to wait for an approval",
            description_md="How long a plan that is not safe waits for an answer. Then the run fails.",
        ),
        "follow_minutes": Param(
            FOLLOW_MINUTES,
            type="number",
            minimum=0,
            maximum=60 * 24,
            title="Minutes to wait for the streams of a topic that grew",
            description_md="How long running streams may take to begin with new partitions and to come nearer. "
            "Then the run fails.",
        ),
        "drain_minutes": Param(
            None,
            type=["number", "null"],
            minimum=0,
            maximum=LONGEST_APPLY.total_seconds() / 60,
            title="Minutes to wait until a keyed topic is drained",
            description_md="Give a keyed topic partitions only when its writers have paused and its streams have read "
            "everything, and wait so long for that. Empty: at once; then the order of keys breaks.",
        ),
    }
