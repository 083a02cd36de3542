"""The difference between declared and actual topics, as data. Pure: it looks at nothing and changes nothing.

A plan has an id that stands for its items and for the state that it saw: whoever approves a plan approves that, and not
what the cluster or the specs have become since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from sluice.provisioning.topics.changes import (
    Create,
    Delete,
    Elect,
    Grow,
    Item,
    Kept,
    Reassign,
    Refused,
    Risk,
    SetConfig,
    Unthrottle,
    sentence,
)
from sluice.provisioning.topics.configs import judge
from sluice.provisioning.topics.declared import ActualCluster, Declared
from sluice.provisioning.topics.siting import Assignment, Sites, is_managed, sites
from sluice.specs.model.topic_shape import TopicShape
from sluice.topics.administration import TopicCreation, TopicState
from sluice.topics.replica_administration import THROTTLED

_ID_LENGTH = 12
_VERBS: Mapping[type[Item], str] = {
    Create: "create",
    Grow: "grow",
    SetConfig: "set",
    Reassign: "move",
    Elect: "elect",
    Unthrottle: "unthrottle",
    Delete: "delete",
}


@dataclass(frozen=True)
class Plan:
    """What stands between the specs and the cluster, ordered by topic and value.

    Attributes:
        items: what would be done.
        refused: what differs and would not be done; then nothing is.
        kept: what no spec names, and nobody touches.
        seen: the declared topics as the cluster has them, also those that shall be absent, when what moves has moved.
    """

    items: tuple[Item, ...] = ()
    refused: tuple[Refused, ...] = ()
    kept: tuple[Kept, ...] = ()
    seen: tuple[TopicState, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.items or self.refused)

    @cached_property
    def id(self) -> str:
        """A name for exactly this plan of exactly this state."""
        items = [_decided(item) for item in self.items if not _passes(item)]
        seen = [(state.name, state.topic_id, state.replicas, _unthrottled(state.configs)) for state in self.seen]
        meaning = [items, [asdict(each) for each in self.refused], [asdict(each) for each in self.kept], seen]
        return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()[:_ID_LENGTH]

    @property
    def guarded(self) -> tuple[Item, ...]:
        """The items that somebody has to approve."""
        return tuple(item for item in self.items if item.risk is not Risk.SAFE)

    @property
    def losing(self) -> tuple[str, ...]:
        """The topics of which records may go."""
        return tuple(sorted({item.topic for item in self.items if item.risk is Risk.LOSS}))

    def __str__(self) -> str:
        """Return what differs in one sentence without an end."""
        return "; ".join(map(sentence, (*self.refused, *self.items)))


def _passes(item: Item) -> bool:
    """Whether an item comes and goes by itself: leaders change, moves end. It makes no other plan of it."""
    return isinstance(item, Elect | Unthrottle) or (isinstance(item, Reassign) and item.before == item.after)


def _decided(item: Item) -> dict[str, Any]:
    """Return of an item what somebody decides on: not how many records have arrived since."""
    return {key: value for key, value in asdict(item).items() if key not in {"size", "under_way"}}


def _unthrottled(configs: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in configs.items() if key not in THROTTLED}


def plan(declared: Declared, seen: ActualCluster) -> Plan:
    """Compare what is declared with what is there.

    Topics without a spec, and configurations that a spec does not name, belong to somebody else: they are no
    difference.
    """
    sited = sites(declared, seen)
    found: list[Item | Refused | Kept] = [*sited.refused, *sited.kept]
    for name in sorted(declared.topics):
        found += _found(declared, seen, name, sited)
    found += [Delete(name, seen.topics[name].partitions) for name in sorted(declared.absent) if name in seen.topics]
    found.sort(key=lambda each: (each.topic, each.value))
    refused = [each for each in found if isinstance(each, Refused)]
    return Plan(
        items=tuple(each for each in found if not isinstance(each, Refused | Kept)),
        refused=tuple(refused),
        kept=tuple(each for each in found if isinstance(each, Kept)),
        seen=tuple(
            replace(seen.topics[name], replicas=seen.settled(name))
            for name in sorted(declared.topics.keys() | declared.absent)
            if name in seen.topics
        ),
    )


def as_dict(found: Plan) -> dict[str, Any]:
    """Return a plan as JSON values, for machines."""
    return {
        "id": found.id,
        "items": [
            {
                "change": _VERBS[type(item)],
                **{name: getattr(item, name) for name in ("topic", "value", "current", "wanted", "why")},
                "risk": item.risk.value,
                **({"assignment": _numbered(item.after)} if isinstance(item, Reassign) else {}),
            }
            for item in found.items
        ],
        "refused": [asdict(each) for each in found.refused],
        "kept": [asdict(each) for each in found.kept],
    }


def _numbered(assignment: Assignment) -> dict[str, list[int]]:
    return {str(partition): list(replicas) for partition, replicas in enumerate(assignment)}


def _found(declared: Declared, seen: ActualCluster, name: str, sited: Sites) -> list[Item | Refused | Kept]:
    spec, actual, assignment = declared.topics[name], seen.topics.get(name), sited.of.get(name, ())
    if actual is None:
        configs = {key: value for key, value in sorted(spec.wanted_configs().items()) if value is not None}
        return [Create(TopicCreation(name, spec.partitions, declared.replicas_of(name), configs, assignment))]
    found: list[Item | Refused | Kept] = [*_partitions(spec, actual, assignment), *_configs(spec, actual)]
    return [*found, *_replicas(declared, seen, actual, assignment)]


def _partitions(spec: TopicShape, actual: TopicState, assignment: Assignment) -> Iterator[Grow | Refused]:
    if actual.partitions < spec.partitions:
        yield Grow(actual.name, actual.partitions, spec.partitions, spec.keyed, assignment[actual.partitions :])
    elif actual.partitions > spec.partitions:
        yield Refused(
            actual.name,
            "partitions",
            str(actual.partitions),
            str(spec.partitions),
            "Kafka takes no partition away, and its records would go with it",
            f"declare {actual.partitions}, or a topic of another name",
        )


def _replicas(
    declared: Declared, seen: ActualCluster, actual: TopicState, assignment: Assignment
) -> Iterator[Reassign | Elect | Refused]:
    now = seen.settled(actual.name)
    wanted = assignment[: actual.partitions] or now
    count = declared.replicas_of(actual.name)
    if now != wanted or seen.moves(actual.name):
        value = "placement" if all(len(replicas) == count for replicas in now) else "replication"
        moving = Reassign(
            actual.name, value, now, wanted, _size(seen, actual.name, now, wanted), seen.moves(actual.name)
        )
        least = _least_in_sync(declared.topics[actual.name], actual)
        if moving.removals and count < least:
            why = f"min.insync.replicas is {least}, so that writers with acks=all would be refused"
            yield Refused(
                actual.name, value, moving.current, moving.wanted, why, "lower it first, or keep the replicas"
            )
        else:
            yield moving
    elif is_managed(declared, actual.name) and (leaders := _leaders(actual)):
        yield Elect(actual.name, leaders)


def _size(seen: ActualCluster, topic: str, now: Assignment, wanted: Assignment) -> int:
    """Return how many bytes are copied."""
    new = [len(set(after) - set(before)) for before, after in zip(now, wanted, strict=True)]
    return sum(count * seen.sizes.get((topic, partition), 0) for partition, count in enumerate(new))


def _least_in_sync(spec: TopicShape, actual: TopicState) -> int:
    declared = spec.wanted_configs().get("min.insync.replicas", actual.configs.get("min.insync.replicas"))
    return int(declared) if declared and declared.isdecimal() else 1


def _leaders(actual: TopicState) -> dict[int, tuple[int | None, int]]:
    """Return the partitions that another broker leads than the preferred one, which could."""
    if not actual.leaders:
        return {}
    preferred = {partition: replicas[0] for partition, replicas in enumerate(actual.replicas) if replicas}
    return {
        partition: (actual.leaders[partition], first)
        for partition, first in preferred.items()
        if actual.leaders[partition] != first and first in actual.in_sync[partition]
    }


def _configs(spec: TopicShape, actual: TopicState) -> Iterator[SetConfig | Unthrottle | Kept | Refused]:
    declared = spec.wanted_configs()
    throttled = sorted({actual.configs[key] for key in THROTTLED if key in actual.configs and key not in declared})
    if throttled:
        yield Unthrottle(actual.name, " and ".join(throttled))
    for key in sorted(declared.keys() | actual.configs.keys() - set(THROTTLED)):
        before = actual.configs.get(key)
        if key not in declared:
            yield Kept(actual.name, key, actual.configs[key])
        elif before != (after := declared[key]):
            change = SetConfig(actual.name, key, before, after, *judge(key, before, after))
            yield _protected(change) if spec.protected and change.risk is Risk.LOSS else change


def _protected(change: SetConfig) -> Refused:
    why = f"the topic is protected, and {change.why}"
    return Refused(
        change.topic, change.value, change.current, change.wanted, why, "take `protected` from its spec first"
    )
