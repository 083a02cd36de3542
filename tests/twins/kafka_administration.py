"""A Kafka cluster's administration, in memory. It passes the suite of the real adapter."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Self

from sluice.errors import RefusedError, SluiceError
from sluice.topics.administration import RecordStamp, TopicCreation, TopicExtent, TopicState
from sluice.topics.identity import identity
from tests.twins.kafka_replicas import InMemoryReplicas

_CONFIGS = frozenset(
    {
        "min.insync.replicas",
        "retention.ms",
        "cleanup.policy",
        "segment.bytes",
        "max.message.bytes",
        "message.timestamp.type",
        "message.timestamp.after.max.ms",
    }
)

_DEFAULTS = {"message.timestamp.type": "CreateTime", "message.timestamp.after.max.ms": "3600000"}


class InMemoryKafkaAdministration(InMemoryReplicas):
    """`brokers` bounds replication; `reachable = False` makes every call fail as a dead cluster does.

    `ids = False` makes it a cluster that gives topics no ids.
    """

    def __init__(self, brokers: int = 1, racks: Mapping[int, str] | None = None, *, ids: bool = True) -> None:
        super().__init__(brokers, racks)
        self.ids = ids
        self.offsets: dict[str, dict[int, int]] = {}
        self.firsts: dict[str, dict[int, int]] = {}
        self.records: dict[str, dict[tuple[int, int], RecordStamp]] = {}
        self.held: dict[str, dict[int, int]] = {}
        """By topic and partition, how many offsets lie behind a transaction that is open."""
        self.groups: dict[str, dict[str, int]] = {}
        self.consumed: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing: no connection is open."""

    def names(self) -> tuple[str, ...]:
        self._reach()
        return tuple(sorted(self.topics))

    def describe(self, names: Iterable[str]) -> Mapping[str, TopicState]:
        self._reach()
        return {name: self.topics[name] for name in names if name in self.topics}

    def configs_in_force(self, names: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
        return {name: {**_DEFAULTS, **state.configs} for name, state in self.describe(names).items()}

    def create(self, creations: Sequence[TopicCreation]) -> None:
        self._reach()
        refusals = []
        for creation in creations:
            why = self._why_not(creation)
            if why:
                refusals.append(f"{creation.name} ({why})")
                continue
            replicas = creation.assignment or self._placed(range(creation.partitions), creation.replication)
            self.topics[creation.name] = _whole(
                TopicState(creation.name, self._identity(creation.name), replicas, dict(creation.configs))
            )
            self.offsets[creation.name] = dict.fromkeys(range(creation.partitions), 0)
        if refusals:
            raise RefusedError(f"The cluster refused to create {'; '.join(refusals)}.", fix="correct the topic spec.")

    def grow(self, topic: str, partitions: int, assignment: Sequence[tuple[int, ...]] = ()) -> None:
        state = self._existing(topic)
        if partitions <= state.partitions:
            why = f"it has {state.partitions} partitions already"
            raise RefusedError(f"The cluster refused to give {topic} {partitions} partitions ({why}).")
        if any(len(replicas) != len(state.replicas[0]) for replicas in assignment):
            raise RefusedError(f"The cluster refused to give {topic} {partitions} partitions (other replicas).")
        added = assignment or self._placed(range(state.partitions, partitions), len(state.replicas[0]))
        self.topics[topic] = _whole(replace(state, replicas=(*state.replicas, *added)))
        self.offsets[topic] |= dict.fromkeys(range(state.partitions, partitions), 0)

    def set_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        state = self._existing(topic)
        if unknown := sorted(set(configs) - _CONFIGS):
            why = f"unknown topic config name: {', '.join(unknown)}"
            raise RefusedError(f"The cluster refused to set {', '.join(sorted(configs))} of {topic} ({why}).")
        wanted = {**state.configs, **configs}
        self.topics[topic] = replace(state, configs={k: value for k, value in wanted.items() if value is not None})

    def forget(self, topic: str) -> None:
        """Lose a topic and its records, as if somebody had deleted it."""
        super().forget(topic)
        self.offsets.pop(topic, None)
        self.firsts.pop(topic, None)
        self.records.pop(topic, None)

    def beginnings(self, topic: str) -> Mapping[int, int]:
        return dict.fromkeys(self.ends(topic), 0) | self.firsts.get(topic, {})

    def trim(self, topic: str, partition: int, first: int) -> None:
        """Lose the records of a partition before an offset, as retention does."""
        self.firsts.setdefault(topic, {})[partition] = first

    def ends(self, topic: str) -> Mapping[int, int]:
        self._reach()
        if topic not in self.topics:
            raise RefusedError(f"The topic {topic!r} does not exist.", fix="run `sluice topics apply`.")
        return dict(self.offsets[topic])

    def append(self, topic: str, partition: int, stamps: Sequence[datetime]) -> None:
        """Append records with these timestamps, which the broker replaces where the topic says so."""
        appended = self.topics[topic].configs.get("message.timestamp.type") == "LogAppendTime"
        for stamp in stamps:
            offset = self.offsets[topic][partition]
            at = datetime.now(UTC) if appended else stamp
            self.records.setdefault(topic, {})[partition, offset] = RecordStamp(at, appended)
            self.offsets[topic][partition] = offset + 1

    def extent(self, topic: str) -> TopicExtent:
        ends = self.ends(topic)
        return TopicExtent(self.topics[topic].topic_id, self.beginnings(topic), ends, self.held.get(topic, {}))

    def extents(self, topics: Collection[str]) -> Mapping[str, TopicExtent | SluiceError]:
        self._reach()
        found: dict[str, TopicExtent | SluiceError] = {}
        for topic in topics:
            try:
                found[topic] = self.extent(topic)
            except RefusedError as error:
                found[topic] = error
        return found

    def offsets_at(self, topic: str, at: datetime) -> Mapping[int, int]:
        known = self.records.get(topic, {})
        return {
            partition: next((o for o in range(end) if (partition, o) in known and known[partition, o].at >= at), end)
            for partition, end in self.ends(topic).items()
        }

    def set_group(self, group: str, offsets: Mapping[str, int]) -> None:
        self._reach()
        if group in self.consumed:
            raise RefusedError(f"The cluster refused to set the offsets of the group {group} (UnknownMemberIdError).")
        self.groups.setdefault(group, {}).update(offsets)

    def stamps(self, topic: str, offsets: Mapping[int, int]) -> Mapping[int, RecordStamp]:
        ends = self.ends(topic)
        known = self.records.get(topic, {})
        firsts = {p: next((o for o in range(at, ends[p]) if (p, o) in known), None) for p, at in offsets.items()}
        return {p: known[p, at] for p, at in firsts.items() if at is not None}

    def _identity(self, topic: str) -> str:
        return identity(topic, uuid.uuid4() if self.ids else None)

    def _existing(self, topic: str) -> TopicState:
        self._reach()
        if topic not in self.topics:
            raise RefusedError(f"The cluster refused: there is no topic {topic}.")
        return self.topics[topic]

    def _placed(self, partitions: Iterable[int], copies: int) -> tuple[tuple[int, ...], ...]:
        """Place partitions in turn, as a cluster without racks does."""
        alive = [broker.id for broker in self.cluster()]
        return tuple(tuple(alive[(p + r) % len(alive)] for r in range(copies)) for p in partitions)

    def _why_not(self, creation: TopicCreation) -> str | None:
        if creation.name in self.topics:
            return "it exists already"
        if creation.replication > self.brokers:
            return f"replication {creation.replication} needs more than {self.brokers} brokers"
        unknown = sorted(set(creation.configs) - _CONFIGS)
        return f"unknown topic config name: {', '.join(unknown)}" if unknown else None


def _whole(state: TopicState) -> TopicState:
    """Return a topic whose new partitions are led and in sync."""
    known = len(state.leaders)
    leaders = (*state.leaders, *(replicas[0] for replicas in state.replicas[known:]))
    in_sync = (*state.in_sync, *(tuple(sorted(replicas)) for replicas in state.replicas[known:]))
    return replace(state, leaders=leaders, in_sync=in_sync)
