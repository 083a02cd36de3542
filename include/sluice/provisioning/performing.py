"""Doing what a plan says: what others wait for first, what takes records last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sluice.provisioning.growth.draining import DrainedGrowth
from sluice.provisioning.growth.order_break import OrderBreaks, grow_on_record
from sluice.provisioning.replicas.moving import MoveOptions, move
from sluice.provisioning.retention.retention_cut import Position
from sluice.provisioning.retention.retention_steps import RETENTION, lower_in_steps
from sluice.provisioning.topics.changes import Create, Delete, Elect, Grow, Reassign, Risk, SetConfig, Unthrottle
from sluice.provisioning.topics.plan import Plan
from sluice.topics.administration import KafkaAdministration
from sluice.topics.replica_administration import PartitionKey

_Changes: TypeAlias = dict[str, dict[str, str | None]]


@dataclass(frozen=True)
class Manner:
    """How a plan is applied.

    Attributes:
        pace: how replicas are moved, and by which clock everything waits.
        breaks: where growths of keyed topics are put on record; None: nowhere.
        positions: returns the position of every stream that reads a topic.
        drain_seconds: so long is waited until a keyed topic is drained, before it grows; None: it grows at once.
        tell: told what has been done that a person wants to know, a sentence without an end each.
    """

    pace: MoveOptions = field(default_factory=MoveOptions)
    breaks: OrderBreaks | None = None
    positions: Callable[[str], Mapping[str, Position]] = lambda _topic: {}
    drain_seconds: float | None = None
    tell: Callable[[str], None] = lambda _said: None


def perform(todo: Plan, administration: KafkaAdministration, manner: Manner) -> None:
    """Do what a plan says. Killed anywhere, the next plan is what is left.

    Raises:
        RefusedError: the cluster refused, or a topic was not drained in time. What was done before stays.
        UnreachableError: the cluster or the control database did not answer. What was done before stays.
    """
    administration.create([item.creation for item in todo.items if isinstance(item, Create)])
    moving = [item for item in todo.items if isinstance(item, Reassign)]
    replicating = {item.topic for item in moving if item.value == "replication" or item.under_way}
    growths = [item for item in todo.items if isinstance(item, Grow)]
    _grow([item for item in growths if item.topic not in replicating], administration, manner)
    before, after = _configs(todo)
    for topic, changes in before.items():
        administration.set_configs(topic, changes)
    moves = {
        (item.topic, partition): replicas
        for item in moving
        for partition, replicas in enumerate(item.after)
        if item.under_way or replicas != item.before[partition]
    }
    if moves:
        move(administration, moves, manner.pace)
    # Kafka gives a topic no partition that has another number of replicas than those that there are.
    _grow([item for item in growths if item.topic in replicating], administration, manner)
    for topic, changes in after.items():
        administration.set_configs(topic, changes)
    administration.elect(_to_elect(todo))
    administration.unthrottle([item.topic for item in todo.items if isinstance(item, Unthrottle)])
    for item in todo.items:
        if isinstance(item, SetConfig) and _is_cut(item):
            _lower(item, administration, manner)
    administration.delete([item.topic for item in todo.items if isinstance(item, Delete)])


def _to_elect(todo: Plan) -> list[PartitionKey]:
    """Return the partitions to be led by the first of their replicas: of a topic that moves all.

    Some of them may have arrived in an earlier run, which did not live to elect their leaders.
    """
    elections = [(item.topic, number) for item in todo.items if isinstance(item, Elect) for number in item.leaders]
    moves = [item for item in todo.items if isinstance(item, Reassign)]
    return [*elections, *((item.topic, partition) for item in moves for partition in range(len(item.after)))]


def _grow(items: Sequence[Grow], administration: KafkaAdministration, manner: Manner) -> None:
    clock = manner.pace.clock
    for item in items:
        topic, more, assignment = item.topic, item.more, item.assignment
        if not item.keyed or manner.breaks is None:
            administration.grow(topic, more, assignment)
            continue
        if manner.drain_seconds is None:
            found = grow_on_record(administration, manner.breaks, topic, more, clock, assignment=assignment)
        else:
            growth = DrainedGrowth(administration, manner.breaks, manner.positions, clock)
            found = growth.run(topic, more, deadline_seconds=manner.drain_seconds, assignment=assignment)
        if found is not None:
            manner.tell(str(found))


def _configs(todo: Plan) -> tuple[_Changes, _Changes]:
    """Return the configurations to set at once, by topic: before replicas are moved, and after it.

    Writers with acks=all are refused where fewer replicas are in sync than that configuration says.
    """
    growing = {item.topic for item in todo.items if isinstance(item, Reassign) and item.moves > item.removals}
    before: _Changes = {}
    after: _Changes = {}
    for item in todo.items:
        if isinstance(item, SetConfig) and not _is_cut(item):
            later = item.value == "min.insync.replicas" and item.topic in growing
            (after if later else before).setdefault(item.topic, {})[item.value] = item.after
    return before, after


def _is_cut(item: SetConfig) -> bool:
    """Whether a change is a retention that is lowered step by step."""
    return item.value == RETENTION and item.risk is Risk.LOSS and item.after is not None


def _lower(item: SetConfig, administration: KafkaAdministration, manner: Manner) -> None:
    before, after = None if item.before is None else int(item.before), int(item.after or 0)
    done = lower_in_steps(
        administration, item.topic, before, after, manner.pace.clock, deadline_seconds=float("inf")
    ).done
    for step in done:
        manner.tell(f"{item.topic}: {step}")
