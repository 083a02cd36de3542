"""Making the changes of topics in a plan: what others wait for first, what deletes records last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sluice.provisioning.growth.draining import DrainedGrowth
from sluice.provisioning.growth.order_break import OrderBreaks, grow_on_record
from sluice.provisioning.plans.changes import (
    ChangeKind,
    ConfigUpdate,
    LeaderElection,
    PartitionIncrease,
    PlannedChange,
    Reassignment,
    Risk,
)
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.replicas.moving import MoveOptions, move
from sluice.provisioning.retention.cut import CLEANUP, Position, deletes
from sluice.provisioning.retention.steps import RETENTION, lower_in_steps
from sluice.topics.administration import KafkaAdministration, TopicCreation
from sluice.topics.replica_administration import PartitionKey

_Configs: TypeAlias = dict[str, dict[str, str | None]]
_Growth: TypeAlias = tuple[str, PartitionIncrease]


@dataclass(frozen=True)
class ApplyOptions:
    """How a plan is applied.

    Attributes:
        moves: how replicas are moved, and the clock by which everything waits.
        breaks: where growths of keyed topics are recorded; None: nowhere.
        positions: returns the position of every stream that reads a topic.
        drain_seconds: how long to wait until a keyed topic is drained, before it grows; None: it grows at once.
        notify: called with each result that an operator wants to know, a sentence without an end.
    """

    moves: MoveOptions = field(default_factory=MoveOptions)
    breaks: OrderBreaks | None = None
    positions: Callable[[str], Mapping[str, Position]] = lambda _topic: {}
    drain_seconds: float | None = None
    notify: Callable[[str], None] = lambda _result: None


def execute(plan: Plan, administration: KafkaAdministration, options: ApplyOptions) -> None:
    """Make the changes of topics. Killed anywhere, the next plan is what is left.

    Raises:
        RefusedError: the cluster refused, or a topic was not drained in time. What was done before stays.
        UnreachableError: the cluster or the control database did not answer. What was done before stays.
    """
    administration.create([each.detail for each in plan.changes if isinstance(each.detail, TopicCreation)])
    moves = {each.subject: each.detail for each in plan.changes if isinstance(each.detail, Reassignment)}
    growths = [(each.subject, each.detail) for each in plan.changes if isinstance(each.detail, PartitionIncrease)]
    late = {each.subject for each in plan.changes if each.value == "replication"}
    late |= {topic for topic, each in moves.items() if each.under_way}
    _grow([each for each in growths if each[0] not in late], administration, options)
    before, after = _configs(plan)
    for topic, configs in before.items():
        administration.set_configs(topic, configs)
    if targets := {
        (topic, partition): replicas
        for topic, each in moves.items()
        for partition, replicas in enumerate(each.after)
        if each.under_way or replicas != each.before[partition]
    }:
        move(administration, targets, options.moves)
    # Kafka gives a topic no partition whose number of replicas differs from that of the existing ones.
    _grow([each for each in growths if each[0] in late], administration, options)
    for topic, configs in after.items():
        administration.set_configs(topic, configs)
    administration.elect(_to_elect(plan))
    administration.unthrottle([each.subject for each in plan.changes if each.kind is ChangeKind.UNTHROTTLE])
    for change in plan.changes:
        if isinstance(change.detail, ConfigUpdate) and _is_cut(change):
            _lower(change.subject, change.detail, administration, options)
    administration.delete([each.subject for each in plan.changes if each.kind is ChangeKind.DELETE])


def _lower(topic: str, update: ConfigUpdate, administration: KafkaAdministration, options: ApplyOptions) -> None:
    """Lower a retention in steps; at once where the topic's policy deletes nothing by it: no step would ever end."""
    state = administration.describe([topic]).get(topic)
    if state is not None and not deletes(state.configs.get(CLEANUP)):
        administration.set_configs(topic, {RETENTION: update.after})
        return
    present = None if update.before is None else int(update.before)
    for step in lower_in_steps(administration, topic, present, int(update.after or 0), options.moves.clock):
        options.notify(f"{topic}: {step}")


def _to_elect(plan: Plan) -> list[PartitionKey]:
    """Return the partitions whose preferred leader has to lead: of a topic that moves all.

    Some of them may have arrived in an earlier run that was killed before it elected their leaders.
    """
    partitions: list[PartitionKey] = []
    for change in plan.changes:
        if isinstance(change.detail, LeaderElection):
            partitions += [(change.subject, partition) for partition in change.detail.leaders]
        elif isinstance(change.detail, Reassignment):
            partitions += [(change.subject, partition) for partition in range(len(change.detail.after))]
    return partitions


def _grow(growths: Sequence[_Growth], administration: KafkaAdministration, options: ApplyOptions) -> None:
    clock = options.moves.clock
    for topic, growth in growths:
        more, assignment = growth.after, growth.assignment
        if not growth.keyed or options.breaks is None:
            administration.grow(topic, more, assignment)
            continue
        if options.drain_seconds is None:
            broken = grow_on_record(administration, options.breaks, topic, more, clock, assignment=assignment)
        else:
            drained = DrainedGrowth(administration, options.breaks, options.positions, clock)
            broken = drained.run(topic, more, deadline_seconds=options.drain_seconds, assignment=assignment)
        if broken is not None:
            options.notify(str(broken))


def _configs(plan: Plan) -> tuple[_Configs, _Configs]:
    """Return the configurations to set at once, by topic: before replicas are moved, and after it.

    Writers with acks=all are refused where fewer replicas are in sync than that configuration says.
    """
    growing = {
        each.subject
        for each in plan.changes
        if isinstance(each.detail, Reassignment) and each.detail.copies > each.detail.removals
    }
    before: _Configs = {}
    after: _Configs = {}
    for change in plan.changes:
        if isinstance(change.detail, ConfigUpdate) and not _is_cut(change):
            later = change.value == "min.insync.replicas" and change.subject in growing
            (after if later else before).setdefault(change.subject, {})[change.value] = change.detail.after
    return before, after


def _is_cut(change: PlannedChange) -> bool:
    """Whether a change is a retention that is lowered in steps."""
    lowered = isinstance(change.detail, ConfigUpdate) and change.detail.after is not None
    return lowered and change.value == RETENTION and change.risk is Risk.LOSS
