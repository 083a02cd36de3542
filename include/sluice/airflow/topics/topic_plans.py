"""What the DAGs about topics ask of the plan, and how they show one: the only module of Airflow's that calls it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TypeAlias

from sluice.airflow.alerts.failure import printable
from sluice.clock import SystemClock
from sluice.project.project import Project
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.execution import ApplyOptions
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.changes import ChangeKind, Refused, Risk
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.replicas.moving import MoveOptions, on_change
from sluice.wording import listed

log = logging.getLogger(__name__)

HEADER = ("topic or principal", "what", "now", "declared", "risk", "why")
MAX_NAMES = 20
"""Names in a summary: it goes through XCom."""

Row: TypeAlias = tuple[str, str, str, str, str, str]
Impacts: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]
"""What changes affect, a clause each, by topic and value."""


def plan_of(project: Project) -> Plan:
    """Compare the specs with the cluster as it is now, and close the connection: the triggerer asks for months."""
    with project.kafka.administration() as administration:
        return current_plan(project.topics.declared(), administration, project.topics.access())


def impacts_of(project: Project, plan: Plan) -> Impacts:
    """Return what the changes affect beyond the values. What cannot be observed is a clause that says so."""
    analysis = project.topics.impact_analysis(project.kafka.administration(), now=SystemClock().now())
    return {key: impact.clauses for key, impact in analysis.impacts(plan).items()}


def apply_to(project: Project, approval: Approval | None, *, drain_minutes: float | None = None) -> Plan:
    """Apply what is safe, or the approved plan, and return what was done. The log says what takes time.

    Args:
        project: gives specs and cluster.
        approval: the plan that an operator has read.
        drain_minutes: so long a keyed topic is waited for to be drained, before it grows; None: it grows at once.
    """
    options = ApplyOptions(
        MoveOptions(on_progress=on_change(log.info)),
        None if approval is None else project.records.order_breaks(),  # what is safe needs no control database
        project.streams.positions,
        None if drain_minutes is None else drain_minutes * 60,
        log.info,
    )
    access = project.topics.access()
    done, _ = apply(
        project.topics.declared(), project.kafka.administration(), access, approval=approval, options=options
    )
    return done


def rows(plan: Plan) -> list[Row]:
    """Return what a plan says, a row each: what is refused first, then what needs approval."""
    safe = [item for item in plan.changes if item.risk is Risk.SAFE]
    refused = [(d.subject, d.value, d.current, d.wanted, "refused", f"{d.why}: {d.fix}") for d in plan.refused]
    changes = [(c.subject, c.value, c.current, c.wanted, str(c.risk), c.why) for c in (*plan.guarded, *safe)]
    return [*refused, *changes]


def unable_rows(plan: Plan) -> list[Row]:
    """Return what the service does not do, a row each, with what to do in it instead."""
    return [(u.subject, u.value, u.current, u.wanted, "not done", f"{u.why}: {u.fix}") for u in plan.unable]


def log_table(plan: Plan) -> str:
    """Return a plan for a log, or one line if there is nothing to do."""
    if not plan and not plan.unable:
        return "Nothing to change: all is as declared."
    lines = (
        " | ".join(" ".join(printable(cell).split()) for cell in row)
        for row in (HEADER, *rows(plan), *unable_rows(plan))
    )
    return "\n".join(["Plan " + plan.id, *lines])


def differences(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """Return what is not as declared, by topic or principal: each value as a clause."""
    by_topic: dict[str, list[str]] = {}
    for each in sorted(plan.differences, key=lambda each: (each.subject, not isinstance(each, Refused))):
        by_topic.setdefault(each.subject, []).append(f"{each.value} is {each.current}, declared {each.wanted}")
    return {topic: tuple(clauses) for topic, clauses in by_topic.items()}


def summary(done: Plan) -> str:
    """Return what was done in one line, short whatever the number of topics."""
    created = [change.subject for change in done.changes if change.kind is ChangeKind.CREATE]
    deleted = [change.subject for change in done.changes if change.kind is ChangeKind.DELETE]
    changed = sorted({change.subject for change in done.changes} - {*created, *deleted})
    verbs = (("created", created), ("changed", changed), ("deleted", deleted))
    return "; ".join(f"{verb} {listed(names, MAX_NAMES)}" for verb, names in verbs if names) or "nothing to change"
