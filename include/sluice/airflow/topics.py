"""The DAG `topics`: applies what of the topic specs is safe, and verifies it. What is not safe is refused, with why."""

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
from sluice.topics.changes import Create
from sluice.topics.declared import Declared
from sluice.topics.plan import Plan

log = logging.getLogger(__name__)

MOST_NAMES = 20
"""Names in a summary: it goes through XCom."""

DOCUMENTATION = """# Topics

`plan` compares `include/topics/` with the cluster, and its log has the table; `apply` does what is safe: it creates
topics and sets configurations that nobody notices; `verify` looks again. A second run changes nothing and says so.

If something of the plan is not safe (partitions that can never be taken away, records that may go), or no plan does it,
`apply` fails with each such value, why, and the command by which somebody approves it; then nothing is applied. Topics
without a spec, and configurations that a spec does not name, belong to somebody else. A broken spec is left out here;
the import error of `spec_errors.py` shows it.
"""


def build_topics_dag(*, open_project: Callable[[], Project] = open_project) -> DAG:
    """Build the DAG.

    Args:
        open_project: gives the project at run time.
    """
    with house_dag(
        "topics",
        doc=DOCUMENTATION,
        description="Makes the topics what is declared, as far as that is safe, and verifies them.",
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
                "plan": found.id,
                "changes": len(found.items),
                "to_approve": len(found.guarded),
                "refused": len(found.refused),
            }

        @task(task_id="apply", doc_md="Does what is safe, or refuses and changes nothing.")
        def apply_plan() -> dict[str, Any]:
            """Compare again, apply what is safe, and return what was done."""
            with retried_only_if_unknown():
                project = open_project()
                done, _ = apply(
                    _declared(project),
                    project.administration(),
                )
            outcome = summary(done)
            log.info("%s", outcome)
            return {"applied": len(done.items), "summary": outcome}

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
    return current_plan(_declared(project), project.administration())


def _declared(project: Project) -> Declared:
    return Declared.of(project.catalog, project.deployment, project.settings.home / "include")


def summary(done: Plan) -> str:
    """Return what was done in one line, short whatever the number of topics."""
    created = [item.topic for item in done.items if isinstance(item, Create)]
    changed = sorted({item.topic for item in done.items if not isinstance(item, Create)})
    said = [f"{verb} {_listed(names)}" for verb, names in (("created", created), ("changed", changed)) if names]
    return "; ".join(said) or "nothing to change"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def table(found: Plan) -> str:
    """Return a plan as a Markdown table, or one line if there is nothing to do."""
    if not found:
        return "Nothing to change: every declared topic is as declared."
    rows = [
        *(_row(item.topic, item.value, item.current, item.wanted, item.risk, item.why) for item in found.items),
        *(_row(d.topic, d.value, d.current, d.wanted, "refused", f"{d.why}: {d.fix}") for d in found.refused),
    ]
    return "\n".join(["| topic | what | now | declared | risk | why |", "|---|---|---|---|---|---|", *rows])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
