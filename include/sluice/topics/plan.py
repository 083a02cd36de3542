"""The difference between declared and actual topics, as data. Pure: it looks at nothing and changes nothing.

A plan has an id that stands for its items and for the state that it saw: whoever approves a plan approves that, and not
what the cluster or the specs have become since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from sluice.specs.outputs import TopicShape
from sluice.topics.administration import TopicCreation, TopicState
from sluice.topics.changes import Create, Grow, Item, Kept, Refused, Risk, SetConfig, sentence
from sluice.topics.configs import judge

_ID_LENGTH = 12
_VERBS: Mapping[type[Item], str] = {Create: "create", Grow: "grow", SetConfig: "set"}


@dataclass(frozen=True)
class Plan:
    """What stands between the specs and the cluster, ordered by topic and value.

    Attributes:
        items: what would be done.
        refused: what differs and would not be done; then nothing is.
        kept: what no spec names, and nobody touches.
        seen: the declared topics as the cluster has them.
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
        content = json.dumps(asdict(self), sort_keys=True, default=str)
        return hashlib.sha256(content.encode()).hexdigest()[:_ID_LENGTH]

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


def plan(specs: Mapping[str, TopicShape], actual: Mapping[str, TopicState], *, default_replication: int) -> Plan:
    """Compare what is declared with what is there.

    Topics without a spec, and configurations that a spec does not name, belong to somebody else: they are no
    difference.

    Args:
        specs: declared topics by name.
        actual: the state of those that exist.
        default_replication: replicas of a topic that does not say (the deployment's).
    """
    found = [_found(name, specs[name], actual.get(name), default_replication) for name in sorted(specs)]
    return Plan(
        items=tuple(each for some in found for each in some if isinstance(each, Create | Grow | SetConfig)),
        refused=tuple(each for some in found for each in some if isinstance(each, Refused)),
        kept=tuple(each for some in found for each in some if isinstance(each, Kept)),
        seen=tuple(actual[name] for name in sorted(specs) if name in actual),
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
            }
            for item in found.items
        ],
        "refused": [asdict(each) for each in found.refused],
        "kept": [asdict(each) for each in found.kept],
    }


def _found(
    name: str, spec: TopicShape, actual: TopicState | None, default_replication: int
) -> list[Item | Refused | Kept]:
    replication = spec.replication or default_replication
    if actual is None:
        configs = {key: value for key, value in sorted(spec.wanted_configs().items()) if value is not None}
        return [Create(TopicCreation(name, spec.partitions, replication, configs))]
    return [*_partitions(spec, actual), *_replication(replication, actual), *_configs(spec, actual)]


def _partitions(spec: TopicShape, actual: TopicState) -> Iterator[Grow | Refused]:
    if actual.partitions < spec.partitions:
        yield Grow(actual.name, actual.partitions, spec.partitions, spec.keyed)
    elif actual.partitions > spec.partitions:
        yield Refused(
            actual.name,
            "partitions",
            str(actual.partitions),
            str(spec.partitions),
            "Kafka takes no partition away, and its records would go with it",
            f"declare {actual.partitions}, or a topic of another name",
        )


def _replication(wanted: int, actual: TopicState) -> Iterator[Refused]:
    counts = [len(replicas) for replicas in actual.replicas]
    if set(counts) == {wanted}:
        return
    uneven = ", ".join(f"{count} on partition {partition}" for partition, count in enumerate(counts))
    yield Refused(
        actual.name,
        "replication",
        str(counts[0]) if len(set(counts)) == 1 else uneven,
        str(wanted),
        "Sluice moves no replicas",
        "declare what it has, or change it with Kafka's own tools",
    )


def _configs(spec: TopicShape, actual: TopicState) -> Iterator[SetConfig | Kept]:
    declared = spec.wanted_configs()
    for key in sorted(declared.keys() | actual.configs.keys()):
        before = actual.configs.get(key)
        if key not in declared:
            yield Kept(actual.name, key, actual.configs[key])
        elif before != (after := declared[key]):
            risk, why = judge(key, before, after)
            yield SetConfig(actual.name, key, before, after, risk, why)
