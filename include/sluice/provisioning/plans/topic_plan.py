"""The difference between declared and actual topics. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from sluice.provisioning.plans.assignments import Assignments, is_managed, plan_assignments
from sluice.provisioning.plans.changes import Assignment, Kept, PlannedChange, Reassignment, Refused, Risk
from sluice.provisioning.plans.declared import ActualCluster, Declared
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.plans.service_limits import placed_elsewhere, within, without_ids
from sluice.provisioning.plans.topic_changes import create, delete, elect, grow, reassign, set_config, unthrottle
from sluice.specs.model.topic_shape import TopicShape
from sluice.topics.administration import TopicCreation, TopicState
from sluice.topics.replica_administration import THROTTLED

_Difference: TypeAlias = PlannedChange | Refused | Kept


def plan_topics(declared: Declared, actual: ActualCluster) -> Plan:
    """Return what differs, what is refused, what stays, and what the service does not do.

    Topics without a spec, and configurations that a spec does not name, belong to others: they are no difference.
    """
    places = declared.service.placement is None
    assignments = plan_assignments(declared, actual) if places else Assignments({}, ())
    differences: list[_Difference] = [*assignments.refused, *assignments.kept, *without_ids(actual)]
    for name in sorted(declared.topics):
        differences += _differences(declared, actual, name, assignments.of.get(name, ()))
    differences += [delete(name, actual.topics[name].partitions) for name in declared.absent if name in actual.topics]
    differences.sort(key=lambda each: (each.subject, each.value))
    plan = Plan(
        tuple(each for each in differences if isinstance(each, PlannedChange)),
        tuple(each for each in differences if isinstance(each, Refused)),
        tuple(each for each in differences if isinstance(each, Kept)),
        tuple(
            replace(actual.topics[name], replicas=actual.settled(name))
            for name in sorted(declared.topics.keys() | declared.absent)
            if name in actual.topics
        ),
        unable=tuple(placed_elsewhere(declared, actual)),
    )
    return within(plan, declared.service)


def _differences(declared: Declared, actual: ActualCluster, name: str, assignment: Assignment) -> Iterator[_Difference]:
    spec, state = declared.topics[name], actual.topics.get(name)
    if state is None:
        configs = {key: value for key, value in sorted(spec.wanted_configs().items()) if value is not None}
        yield create(TopicCreation(name, spec.partitions, declared.replicas_of(name), configs, assignment))
        return
    yield from _partitions(spec, state, assignment)
    yield from _configs(spec, state)
    yield from _replicas(declared, actual, state, assignment)


def _partitions(spec: TopicShape, state: TopicState, assignment: Assignment) -> Iterator[PlannedChange | Refused]:
    now, wanted = state.partitions, spec.partitions
    if now < wanted:
        yield grow(state.name, now, wanted, keyed=spec.keyed, assignment=assignment[now:])
    elif now > wanted:
        why = "Kafka takes no partition away, and its records would go with it"
        fix = f"declare {now}, or a topic of another name"
        yield Refused(state.name, "partitions", str(now), str(wanted), why, fix)


def _replicas(
    declared: Declared, actual: ActualCluster, state: TopicState, assignment: Assignment
) -> Iterator[PlannedChange | Refused]:
    topic, now = state.name, actual.settled(state.name)
    count = declared.replicas_of(topic)
    move = Reassignment(now, assignment[: state.partitions] or now, actual.moves(topic))
    if move.before != move.after or move.under_way:
        value = "placement" if all(len(replicas) == count for replicas in now) else "replication"
        change = reassign(topic, value, move, size=_copied_bytes(actual, topic, move))
        least = _least_in_sync(declared.topics[topic], state)
        if move.removals and count < least:
            why = f"min.insync.replicas is {least}, so that writers with acks=all would be refused"
            yield Refused.of(change, why, "lower it first, or keep the replicas")
        else:
            yield change
    elif is_managed(declared, topic) and (leaders := _leaders(state)):
        yield elect(topic, leaders)


def _copied_bytes(actual: ActualCluster, topic: str, move: Reassignment) -> int:
    new = [len(set(after) - set(before)) for before, after in zip(move.before, move.after, strict=True)]
    return sum(count * actual.sizes.get((topic, partition), 0) for partition, count in enumerate(new))


def _least_in_sync(spec: TopicShape, state: TopicState) -> int:
    declared = spec.wanted_configs().get("min.insync.replicas", state.configs.get("min.insync.replicas"))
    return int(declared) if declared and declared.isdecimal() else 1


def _leaders(state: TopicState) -> dict[int, tuple[int | None, int]]:
    """Return the partitions that another broker leads than the preferred one, which could."""
    if not state.leaders:
        return {}
    preferred = {partition: replicas[0] for partition, replicas in enumerate(state.replicas) if replicas}
    return {
        partition: (state.leaders[partition], first)
        for partition, first in preferred.items()
        if state.leaders[partition] != first and first in state.in_sync[partition]
    }


def _configs(spec: TopicShape, state: TopicState) -> Iterator[_Difference]:
    declared = spec.wanted_configs()
    throttled = sorted({state.configs[key] for key in THROTTLED if key in state.configs and key not in declared})
    if throttled:
        yield unthrottle(state.name, " and ".join(throttled))
    for key in sorted(declared.keys() | state.configs.keys() - set(THROTTLED)):
        before = state.configs.get(key)
        if key not in declared:
            yield Kept(state.name, key, state.configs[key])
        elif before != (after := declared[key]):
            change = set_config(state.name, key, before, after)
            if spec.protected and change.risk is Risk.LOSS:
                why = f"the topic is protected, and {change.why}"
                yield Refused.of(change, why, "take `protected` from its spec first")
            else:
                yield change
