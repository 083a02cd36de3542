"""Make the cluster what the specs declare, as far as that is approved, and look again to be sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sluice.errors import CorruptionError, RefusedError
from sluice.topics.administration import KafkaAdministration, TopicState
from sluice.topics.changes import Create, Delete, Elect, Grow, Reassign, SetConfig, Unthrottle, sentence
from sluice.topics.declared import Declared, look
from sluice.topics.moving import Pace, move
from sluice.topics.plan import Plan, plan

_PACE = Pace()


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
    pace: Pace = _PACE,
) -> tuple[Plan, Mapping[str, TopicState]]:
    """Change what differs; a second run changes nothing, and one that was cut off is finished by the next.

    Either the whole plan is applied or nothing is: not if it has an item that is refused, and not if it has one that
    somebody has to approve and nobody has.

    Args:
        declared: what there shall be.
        administration: the cluster.
        approval: the plan that somebody has read; without it only what is safe is applied.
        pace: how replicas are moved, if any are.

    Returns:
        What was done, and the declared topics as the cluster has them now.

    Raises:
        RefusedError: something of the plan may not be applied (all of it is named), or the cluster refused.
        CorruptionError: a topic that was just changed is not what was asked for.
    """
    todo = current_plan(declared, administration)
    _refuse(todo, approval)
    _perform(todo, administration, pace)
    seen = look(declared, administration)
    left = plan(declared, seen)
    if left.refused or any(not isinstance(item, Elect) for item in left.items):  # leaders change by themselves
        raise CorruptionError(
            f"After the topics were applied, the cluster still differs: {left}.",
            fix="look for another program that changes topics (`sluice topics describe`), then apply again.",
        )
    return todo, seen.topics


def _perform(todo: Plan, administration: KafkaAdministration, pace: Pace) -> None:
    """Do what a plan says: what others wait for first, what takes records last."""
    administration.create([item.creation for item in todo.items if isinstance(item, Create)])
    replicating = {item.topic for item in todo.items if isinstance(item, Reassign) and item.value == "replication"}
    _grow([item for item in todo.items if isinstance(item, Grow) and item.topic not in replicating], administration)
    before, after = _configs(todo)
    for topic, changes in before.items():
        administration.set_configs(topic, changes)
    moves = {
        (item.topic, partition): replicas
        for item in todo.items
        if isinstance(item, Reassign)
        for partition, replicas in enumerate(item.after)
        if item.under_way or replicas != item.before[partition]
    }
    if moves:
        move(administration, moves, pace)
    # Kafka gives a topic no partition that has another number of replicas than those that there are.
    _grow([item for item in todo.items if isinstance(item, Grow) and item.topic in replicating], administration)
    for topic, changes in after.items():
        administration.set_configs(topic, changes)
    administration.elect([(i.topic, partition) for i in todo.items if isinstance(i, Elect) for partition in i.leaders])
    administration.unthrottle([item.topic for item in todo.items if isinstance(item, Unthrottle)])
    administration.delete([item.topic for item in todo.items if isinstance(item, Delete)])


def _grow(items: Sequence[Grow], administration: KafkaAdministration) -> None:
    for item in items:
        administration.grow(item.topic, item.more, item.assignment)


_Changes: TypeAlias = dict[str, dict[str, str | None]]


def _configs(todo: Plan) -> tuple[_Changes, _Changes]:
    """Return the configurations to set, by topic: before replicas are moved, and after it.

    Writers with acks=all are refused where fewer replicas are in sync than that configuration says.
    """
    growing = {item.topic for item in todo.items if isinstance(item, Reassign) and item.moves > item.removals}
    before: _Changes = {}
    after: _Changes = {}
    for item in todo.items:
        if isinstance(item, SetConfig):
            later = item.value == "min.insync.replicas" and item.topic in growing
            (after if later else before).setdefault(item.topic, {})[item.value] = item.after
    return before, after


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
