"""The difference between declared and actual topics, as data. Pure: it looks at nothing and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sluice.specs.outputs import TopicShape
from sluice.topics.administration import TopicCreation, TopicState

_UNSET = "unset"


@dataclass(frozen=True)
class Create:
    """A declared topic that does not exist."""

    creation: TopicCreation

    @property
    def topic(self) -> str:
        """The topic's name."""
        return self.creation.name

    def __str__(self) -> str:
        configs = ", ".join(f"{key}={value}" for key, value in sorted(self.creation.configs.items()))
        return (
            f"{self.topic}: create with {self.creation.partitions} partitions, replication {self.creation.replication}"
            + (f", {configs}" if configs else "")
        )


@dataclass(frozen=True)
class Difference:
    """One value of an existing topic that is not what its spec declares.

    Attributes:
        value: `partitions`, `replication`, or the name of a configuration.
        current: what the cluster has; partitions that differ in replication are named.
    """

    topic: str
    value: str
    current: str
    wanted: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.value} is {self.current}, declared {self.wanted}"


@dataclass(frozen=True)
class Plan:
    """What stands between the specs and the cluster, ordered by topic and value."""

    creations: tuple[Create, ...] = ()
    differences: tuple[Difference, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.creations or self.differences)


def plan(specs: Mapping[str, TopicShape], actual: Mapping[str, TopicState], *, default_replication: int) -> Plan:
    """Compare what is declared with what is there.

    Topics without a spec, and configurations that a spec does not name, belong to somebody else: they are no
    difference.

    Args:
        specs: declared topics by name.
        actual: the state of those that exist.
        default_replication: replicas of a topic that does not say (the deployment's).
    """
    wanted = [_creation(name, specs[name], default_replication) for name in sorted(specs)]
    return Plan(
        creations=tuple(Create(topic) for topic in wanted if topic.name not in actual),
        differences=tuple(
            difference
            for topic in wanted
            if topic.name in actual
            for difference in _differences(topic, actual[topic.name])
        ),
    )


def _creation(name: str, spec: TopicShape, default_replication: int) -> TopicCreation:
    return TopicCreation(
        name, spec.partitions, spec.replication or default_replication, dict(sorted(spec.wanted_configs().items()))
    )


def _differences(wanted: TopicCreation, actual: TopicState) -> Iterator[Difference]:
    if actual.partitions != wanted.partitions:
        yield Difference(wanted.name, "partitions", str(actual.partitions), str(wanted.partitions))
    if {len(replicas) for replicas in actual.replicas} != {wanted.replication}:
        yield Difference(wanted.name, "replication", _replication(actual), str(wanted.replication))
    for key, value in sorted(wanted.configs.items()):
        current = actual.configs.get(key)
        if current != value:
            yield Difference(wanted.name, key, _UNSET if current is None else current, value)


def _replication(actual: TopicState) -> str:
    counts = [len(replicas) for replicas in actual.replicas]
    if len(set(counts)) == 1:
        return str(counts[0])
    return ", ".join(f"{count} on partition {partition}" for partition, count in enumerate(counts))
