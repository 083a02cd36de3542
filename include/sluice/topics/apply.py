"""Make the cluster what the specs declare, as far as that is approved, and look again to be sure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.errors import CorruptionError, RefusedError
from sluice.topics.administration import KafkaAdministration, TopicState
from sluice.topics.changes import Elect, sentence
from sluice.topics.declared import Declared, look
from sluice.topics.performing import Manner, perform
from sluice.topics.plan import Plan, plan

_MANNER = Manner()


@dataclass(frozen=True)
class Approval:
    """What somebody has read and wants.

    Attributes:
        plan: the plan's id.
        losing: the topics of which records may go, named one by one.
    """

    plan: str
    losing: frozenset[str] = frozenset()


def current_plan(declared: Declared, administration: KafkaAdministration) -> Plan:
    """Compare the specs with the cluster as it is now."""
    return plan(declared, look(declared, administration))


def apply(
    declared: Declared,
    administration: KafkaAdministration,
    *,
    approval: Approval | None = None,
    manner: Manner = _MANNER,
) -> tuple[Plan, Mapping[str, TopicState]]:
    """Change what differs; a second run changes nothing, and one that was cut off is finished by the next.

    Either the whole plan is applied or nothing is: not if it has an item that is refused, and not if it has one that
    somebody has to approve and nobody has.

    Args:
        declared: what there shall be.
        administration: the cluster.
        approval: the plan that somebody has read; without it only what is safe is applied.
        manner: how things are done that take their time.

    Returns:
        What was done, and the declared topics as the cluster has them now.

    Raises:
        RefusedError: something of the plan may not be applied (all of it is named), or the cluster refused.
        CorruptionError: a topic that was just changed is not what was asked for.
    """
    todo = current_plan(declared, administration)
    _refuse(todo, approval)
    perform(todo, administration, manner)
    seen = look(declared, administration)
    left = plan(declared, seen)
    if left.refused or any(not isinstance(item, Elect) for item in left.items):  # leaders change by themselves
        raise CorruptionError(
            f"After the topics were applied, the cluster still differs: {left}.",
            fix="look for another program that changes topics (`sluice topics describe`), then apply again.",
        )
    return todo, seen.topics


def _refuse(todo: Plan, approval: Approval | None) -> None:
    """Raise an error if the plan may not be applied.

    Raises:
        RefusedError: says which items, why, and what to do.
    """
    if todo.refused:
        whys = "; ".join(f"{sentence(each)} ({each.why}: {each.fix})" for each in todo.refused)
        raise RefusedError(
            f"Existing topics differ from their specs in what no plan changes, so nothing was applied: {whys}.",
            fix="change the specs, then plan again.",
        )
    if approval is not None and approval.plan != todo.id:
        raise RefusedError(
            f"The plan {approval.plan} is out of date, so nothing was applied: the specs or the cluster have changed "
            f"since, and the plan is {todo.id} now ({todo or 'nothing to do'}).",
            fix="read the new one: `sluice topics plan`.",
        )
    if todo.guarded and approval is None:
        whys = "; ".join(f"{sentence(item)} ({item.why})" for item in todo.guarded)
        raise RefusedError(
            f"The plan {todo.id} has changes that somebody has to approve, so nothing was applied: {whys}.",
            fix=f"read `sluice topics plan`, then run {command(todo)}.",
        )
    if approval is not None and (unnamed := sorted(set(todo.losing) - approval.losing)):
        raise RefusedError(
            f"By the plan {todo.id} records of {', '.join(unnamed)} may go, and nobody has said that they may, so "
            "nothing was applied.",
            fix=f"if they may, run {command(todo)}.",
        )


def command(todo: Plan) -> str:
    """Return the command that applies a plan as it is."""
    losing = "".join(f" --losing {topic}" for topic in todo.losing)
    return f"`sluice topics apply --plan {todo.id}{losing}`"
