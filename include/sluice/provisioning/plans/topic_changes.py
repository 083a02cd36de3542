"""The changes of topics, one function each: what they say, and what they risk. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from sluice.provisioning.plans.changes import (
    Assignment,
    ChangeKind,
    ConfigUpdate,
    LeaderElection,
    PartitionIncrease,
    PlannedChange,
    Reassignment,
    Risk,
)
from sluice.provisioning.plans.config_risks import config_risk
from sluice.topics.administration import TopicCreation

UNSET = "unset"
_MAX_SHOWN = 3


def create(creation: TopicCreation) -> PlannedChange:
    """Create a declared topic that does not exist."""
    shape = f"{creation.partitions} partitions, replication {creation.replication}"
    wanted = ", ".join([shape, *(f"{key}={value}" for key, value in sorted(creation.configs.items()))])
    why = "it is declared and does not exist"
    return PlannedChange(ChangeKind.CREATE, creation.name, "topic", "absent", wanted, Risk.SAFE, why, creation)


def grow(topic: str, before: int, after: int, *, keyed: bool = True, assignment: Assignment = ()) -> PlannedChange:
    """Give a topic partitions, which cannot be taken away again; see `PartitionIncrease`."""
    why = "partitions can never be taken away again"
    if keyed:
        moved = 1 - gcd(before, after) / after  # a key stays where both remainders of its hash agree
        why += (
            f", and {moved:.0%} of all keys get another partition: what follows there may overtake what waits in the "
            "old one"
        )
    detail = PartitionIncrease(before, after, keyed, assignment)
    return PlannedChange(ChangeKind.GROW, topic, "partitions", str(before), str(after), Risk.APPROVAL, why, detail)


def set_config(topic: str, name: str, before: str | None, after: str | None) -> PlannedChange:
    """Give an existing topic another value of a configuration; None is the broker's default."""
    current, wanted = (UNSET if value is None else value for value in (before, after))
    risk, why = config_risk(name, before, after)
    return PlannedChange(ChangeKind.SET, topic, name, current, wanted, risk, why, ConfigUpdate(before, after))


def reassign(topic: str, value: str, move: Reassignment, *, size: int = 0) -> PlannedChange:
    """Move replicas of a topic, which changes its `replication` or `placement`; `size`: bytes copied, if known."""
    current, wanted = _replicas(value, move, move.before), _replicas(value, move, move.after)
    risk = Risk.APPROVAL if move.copies or move.removals else Risk.SAFE
    return PlannedChange(ChangeKind.MOVE, topic, value, current, wanted, risk, _why_moved(move, size), move)


def elect(topic: str, leaders: Mapping[int, tuple[int | None, int]]) -> PlannedChange:
    """Let the preferred leaders lead again, which are in sync; per partition, who leads and who is preferred."""
    current, wanted = (
        _some([f"{p} by {pair[which] or 'none'}" for p, pair in sorted(leaders.items())]) for which in (0, 1)
    )
    why = "the preferred leaders are in sync; clients follow within a second"
    return PlannedChange(ChangeKind.ELECT, topic, "leaders", current, wanted, Risk.SAFE, why, LeaderElection(leaders))


def unthrottle(topic: str, replicas: str) -> PlannedChange:
    """Remove the throttle that a killed move has left on a topic."""
    why = "a move that is over left its throttle, which would slow down a replica that has to catch up"
    value = "replication.throttled.replicas"
    return PlannedChange(ChangeKind.UNTHROTTLE, topic, value, replicas, UNSET, Risk.SAFE, why)


def delete(topic: str, partitions: int) -> PlannedChange:
    """Delete a topic that is declared absent and exists."""
    why = "the topic is deleted, with all of its records"
    return PlannedChange(ChangeKind.DELETE, topic, "topic", f"{partitions} partitions", "absent", Risk.LOSS, why)


def _why_moved(move: Reassignment, size: int) -> str:
    if move.before == move.after:
        return "it has begun, and its end was not observed"
    effects = [_count(move.copies, "replica is copied", "replicas are copied")] if move.copies else []
    if size and effects:
        effects[-1] += f" ({size / 1e6:,.1f} MB)"
    if move.removals > move.copies:
        effects.append(_count(move.removals - move.copies, "copy goes for good", "copies go for good"))
    return ", ".join(effects) or "the same brokers in another order, so that leaders are even: nothing is copied"


def _replicas(value: str, move: Reassignment, assignment: Assignment) -> str:
    if value == "replication":
        counts = [len(replicas) for replicas in assignment]
        uneven = ", ".join(f"{count} on partition {partition}" for partition, count in enumerate(counts))
        return str(counts[0]) if len(set(counts)) == 1 else uneven
    changed = [p for p in range(len(assignment)) if move.before[p] != move.after[p]]
    return _some([f"{p} on {','.join(map(str, assignment[p]))}" for p in changed]) or "moving"


def _some(clauses: list[str]) -> str:
    more = len(clauses) - _MAX_SHOWN
    return "; ".join([*clauses[:_MAX_SHOWN], *([f"{more} more"] if more > 0 else [])])


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
