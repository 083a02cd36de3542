"""What the DAGs about topics ask of the plan, and how they show one: the only module of Airflow's that calls it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TypeAlias

from sluice.airflow.alerts.failure import printable
from sluice.clock import SystemClock
from sluice.project.project import Project
from sluice.project.provisioned import declared_access, declared_topics
from sluice.project.topic_looks import looker, order_breaks, positions
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.growth.impact import impacts_of
from sluice.provisioning.performing import Manner
from sluice.provisioning.plan import Item, Provision
from sluice.provisioning.plan import differences as differing
from sluice.provisioning.replicas.moving import MoveOptions, news
from sluice.provisioning.topics.changes import Approval, Create, Delete, Refused, Risk

log = logging.getLogger(__name__)

HEADER = ("topic or principal", "what", "now", "declared", "risk", "why")
MOST_NAMES = 20
"""Names in a summary: it goes through XCom."""

Row: TypeAlias = tuple[str, str, str, str, str, str]
Touches: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]
"""What changes touch, a clause each, by topic and value."""


def plan_of(project: Project) -> Provision:
    """Compare the specs with the cluster as it is now, and close the connection: the triggerer asks for months."""
    with project.administration() as administration:
        return current_plan(declared_topics(project), administration, declared_access(project))


def touches_of(project: Project, found: Provision) -> Touches:
    """Look at what the changes touch, beyond the values. What cannot be seen is a clause that says so."""
    looking = looker(project, project.administration(), now=SystemClock().now())
    return {key: impact.clauses for key, impact in impacts_of(found.topics, looking).items()}


def apply_to(project: Project, approval: Approval | None, *, drain_minutes: float | None = None) -> Provision:
    """Apply what is safe, or the approved plan, and return what was done. The log tells of what takes its time.

    Args:
        project: gives specs and cluster.
        approval: the plan that somebody has read.
        drain_minutes: so long a keyed topic is waited for to be drained, before it grows; None: it grows at once.
    """
    manner = Manner(
        MoveOptions(on_progress=news(log.info)),
        None if approval is None else order_breaks(project),  # what is safe needs no control database
        lambda topic: positions(project, topic),
        None if drain_minutes is None else drain_minutes * 60,
        log.info,
    )
    access = declared_access(project)
    done, _ = apply(declared_topics(project), project.administration(), access, approval=approval, manner=manner)
    return done


def rows(found: Provision) -> list[Row]:
    """Return what a plan says, a row each: what is refused first, then what needs somebody's word."""
    safe = [item for item in found.items if item.risk is Risk.SAFE]
    refused = [(d.topic, d.value, d.current, d.wanted, "refused", f"{d.why}: {d.fix}") for d in found.refused]
    return [*refused, *map(_row, (*found.guarded, *safe))]


def _row(item: Item) -> Row:
    return (item.topic, item.value, item.current, item.wanted, str(item.risk), item.why)


def log_table(found: Provision) -> str:
    """Return a plan for a log, or one line if there is nothing to do."""
    if not found:
        return "Nothing to change: all is as declared."
    return "\n".join(["Plan " + found.id, *(" | ".join(map(_in_one_line, row)) for row in (HEADER, *rows(found)))])


def _in_one_line(cell: str) -> str:
    return " ".join(printable(cell).split())


def differences(found: Provision) -> Mapping[str, tuple[str, ...]]:
    """Return what is not as declared, by topic or principal: each value as a clause."""
    by_topic: dict[str, list[str]] = {}
    for each in sorted(differing(found), key=lambda each: (each.topic, not isinstance(each, Refused))):
        by_topic.setdefault(each.topic, []).append(f"{each.value} is {each.current}, declared {each.wanted}")
    return {topic: tuple(clauses) for topic, clauses in by_topic.items()}


def summary(done: Provision) -> str:
    """Return what was done in one line, short whatever the number of topics."""
    created = [item.topic for item in done.items if isinstance(item, Create)]
    deleted = [item.topic for item in done.items if isinstance(item, Delete)]
    changed = sorted({item.topic for item in done.items if not isinstance(item, Create | Delete)})
    verbs = (("created", created), ("changed", changed), ("deleted", deleted))
    return "; ".join(f"{verb} {listed(names)}" for verb, names in verbs if names) or "nothing to change"


def listed(names: list[str]) -> str:
    """Return names in a line, not too many of them."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
