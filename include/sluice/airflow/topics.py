"""The DAG `topics`: creates what the topic specs declare, and verifies it. What differs is refused, value by value."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException

from sluice.airflow.conventions import Tag, house_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.runtime import open_project
from sluice.project import Project
from sluice.topics.apply import apply, current_plan
from sluice.topics.plan import Plan

log = logging.getLogger(__name__)

MOST_NAMES = 20
"""Names in a summary: it goes through XCom."""

DOCUMENTATION = """# Topics

`plan` compares `include/topics/` with the cluster, and its log has the table; `apply` creates what is missing; `verify`
looks again. A second run changes nothing and says so.

An existing topic is never altered: if one differs from its spec, `apply` fails with every value that differs, and
nothing is created. Topics without a spec belong to somebody else. A broken spec is left out here; the import error of
`spec_errors.py` shows it.
"""


def build_topics_dag(*, open_project: Callable[[], Project] = open_project) -> DAG:
    """Build the DAG.

    Args:
        open_project: gives the project at run time.
    """
    with house_dag(
        "topics",
        doc=DOCUMENTATION,
        description="Creates the declared topics and verifies them.",
        tags=(Tag.TOPICS,),
    ) as dag:

        @task(task_id="plan", doc_md="Changes nothing.")
        def plan_topics() -> dict[str, Any]:
            """Return what stands between the specs and the cluster."""
            with retried_only_if_unknown():
                project = open_project()
                found = _plan(project)
            log.info("%s", table(found))
            return {
                "declared": len(project.catalog.kafka_topics()),
                "to_create": len(found.creations),
                "differences": len(found.differences),
            }

        @task(task_id="apply", doc_md="Creates what is missing, or refuses and changes nothing.")
        def apply_plan() -> dict[str, Any]:
            """Compare again, create what is missing, and return what was done."""
            with retried_only_if_unknown():
                project = open_project()
                done, _ = apply(
                    project.catalog.kafka_topics(),
                    project.administration(),
                    default_replication=project.deployment.replication,
                )
            outcome = summary(done)
            log.info("%s", outcome)
            return {"created": len(done.creations), "summary": outcome}

        @task(task_id="verify", doc_md="Looks again, after the fact.")
        def verify_topics() -> dict[str, Any]:
            """Return how many topics are as declared; fail if one is not."""
            with retried_only_if_unknown():
                project = open_project()
                left = _plan(project)
            if left:
                raise AirflowFailException(f"The cluster is not what the specs declare:\n{table(left)}")
            return {"as_declared": len(project.catalog.kafka_topics())}

        plan_topics() >> apply_plan() >> verify_topics()
    return dag


def _plan(project: Project) -> Plan:
    return current_plan(
        project.catalog.kafka_topics(), project.administration(), default_replication=project.deployment.replication
    )


def summary(done: Plan) -> str:
    """Return what was created in one line, short whatever the number of topics."""
    names = [item.topic for item in done.creations]
    if not names:
        return "nothing to change"
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"created {', '.join(names[:MOST_NAMES])}{more}"


def table(found: Plan) -> str:
    """Return a plan as a Markdown table, or one line if there is nothing to do."""
    if not found:
        return "Nothing to change: every declared topic is as declared."
    rows = [
        *(f"| {item.topic} | (topic) | absent | {item} |" for item in found.creations),
        *(f"| {d.topic} | {d.value} | {d.current} | {d.wanted} |" for d in found.differences),
    ]
    return "\n".join(["| topic | what | now | declared |", "|---|---|---|---|", *rows])
