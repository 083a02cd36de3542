"""Where a cluster keeps replicas, through kafka-python: brokers, moves, leaders, throttles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from kafka import TopicPartition
from kafka.admin import ConfigResourceType
from kafka.errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    KafkaError,
    NoReassignmentInProgressError,
    PreferredLeaderNotAvailableError,
    UnknownTopicOrPartitionError,
    for_code,
)

from sluice.errors import RefusedError, UnreachableError
from sluice.kafka.client.session import AdminSession
from sluice.kafka.topic_changes import alter_configs, set_configs
from sluice.topics.replica_administration import THROTTLED, BrokerState, PartitionKey, Throttle
from sluice.wording import listed

_RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_FORBIDDEN = "AuthorizationFailed"
_PREFERRED = 0
_HARMLESS = (ElectionNotNeededError, EligibleLeadersNotAvailableError, PreferredLeaderNotAvailableError)


class ReplicaCalls(AdminSession):
    """What `KafkaPythonAdministration` does with replicas; see the port `ReplicaAdministration`."""

    def brokers(self) -> list[int]:
        """Return the ids of the brokers that the cluster lists. A killed one stays listed for a while."""
        return [broker.id for broker in self.cluster()]

    def cluster(self) -> tuple[BrokerState, ...]:
        """Return the brokers that are up, ordered by id. The cluster lists those that were, too, as fenced."""
        answer = self._ask("list the brokers", lambda client: client.describe_cluster())["brokers"]
        return tuple(
            BrokerState(int(broker["broker_id"]), broker.get("rack") or None)
            for broker in sorted(answer, key=lambda broker: int(broker["broker_id"]))
            if not broker.get("is_fenced")
        )

    def moving(self) -> Mapping[PartitionKey, tuple[int, ...]]:
        """Return the partitions that are being moved, each with the brokers that its replicas leave."""
        answer = self._ask("list the moves of replicas", lambda client: client.list_partition_reassignments())
        return {(key.topic, key.partition): tuple(move["removing_replicas"]) for key, move in sorted(answer.items())}

    def reassign(self, targets: Mapping[PartitionKey, tuple[int, ...] | None]) -> None:
        """Have partitions moved to these brokers; None ends the move of a partition."""
        wanted = {TopicPartition(*key): None if to is None else list(to) for key, to in targets.items()}
        answers = self._ask("move replicas", lambda client: client.alter_partition_reassignments(wanted))
        faults = [
            f"{key.topic}/{key.partition} ({error.__name__})"
            for key, error in sorted(answers.items())
            if error is not None and error is not NoReassignmentInProgressError
        ]
        if faults:
            raise RefusedError(
                f"The cluster refused to move {listed(faults, 3)}.",
                fix="see whether all brokers are up, and plan again.",
            )
        self._until(lambda: self._begun(targets))

    def sizes(self, topics: Collection[str]) -> Mapping[PartitionKey, Mapping[int, int]]:
        """Return the bytes of each replica, by broker."""
        if not topics:  # kafka-python takes an empty list for "all topics"
            return {}
        alive = self.brokers()
        log_sizes: dict[PartitionKey, dict[int, int]] = defaultdict(dict)
        for broker in self._ask("say how large replicas are", lambda client: _log_folders(client, topics, alive)):
            for folder in broker["log_dirs"]:
                for topic in folder["topics"]:
                    for partition in topic["partitions"]:
                        key = topic["name"], int(partition["partition_index"])
                        if topic["name"] in topics:
                            log_sizes[key][int(broker["broker"])] = int(partition["partition_size"])
        return log_sizes

    def elect(self, partitions: Collection[PartitionKey]) -> None:
        """Make the first replica of each partition its leader, where that is in sync."""
        if not partitions:  # kafka-python takes an empty list for "all topics"
            return
        wanted = _by_topic(partitions)
        answer = self._ask("elect leaders", lambda client: client.elect_leaders(_PREFERRED, wanted, raise_errors=False))
        faults = [
            f"{topic.topic}/{partition.partition_id} ({for_code(partition.error_code).__name__})"
            for topic in answer.replica_election_results
            for partition in topic.partition_result
            if partition.error_code and not issubclass(for_code(partition.error_code), _HARMLESS)
        ]
        if faults:
            raise RefusedError(f"The cluster refused to elect leaders of {listed(faults, 3)}.")
        self._until(lambda: not self._led_by_others(wanted))

    def throttle(self, throttle: Throttle) -> None:
        """Slow the moves of these replicas down."""
        for broker in self.brokers():
            self._limit_rate(broker, str(throttle.bytes_per_second))
        for topic in sorted({topic for topic, _ in throttle.targets}):
            values = (_replicas(throttle.sources, topic), _replicas(throttle.targets, topic))
            self._limit(ConfigResourceType.TOPIC, topic, dict(zip(THROTTLED, values, strict=True)))

    def unthrottle(self, topics: Collection[str]) -> None:
        """Remove every throttle from topics and from the brokers.

        On a broker that has just died a rate may stay. Without the topics' lists of replicas it slows nothing, and the
        next call removes it.
        """
        if not topics:
            return
        for topic in sorted(topics):
            self._lift(ConfigResourceType.TOPIC, topic, THROTTLED)
        for broker in self.brokers():
            with suppress(UnreachableError):
                self._lift(ConfigResourceType.BROKER, str(broker), _RATES)

    def delete(self, topics: Collection[str]) -> None:
        """See the port."""
        if not topics:
            return
        answers = self._ask("delete topics", lambda client: client.delete_topics(sorted(topics), raise_errors=False))
        kinds = {answer["name"]: for_code(answer["error_code"]) for answer in answers["topics"] if answer["error_code"]}
        faults = [
            f"{name} ({kind.__name__})"
            for name, kind in kinds.items()
            if not issubclass(kind, UnknownTopicOrPartitionError)
        ]
        if faults:
            raise RefusedError(
                f"The cluster refused to delete {listed(faults, 3)}.",
                fix="see `delete.topic.enable` at the brokers.",
            )
        self._until(lambda: all(topic["error_code"] for topic in self._described(topics)))

    def _begun(self, targets: Mapping[PartitionKey, tuple[int, ...] | None]) -> bool:
        """Whether the cluster shows each move: under way, arrived, or ended."""
        moving = self.moving()
        replicas = {
            (topic["name"], partition["partition_index"]): tuple(partition["replica_nodes"])
            for topic in self._described({topic for topic, _ in targets})
            for partition in topic["partitions"]
        }
        return all(
            key not in moving if to is None else key in moving or replicas.get(key) == to for key, to in targets.items()
        )

    def _led_by_others(self, wanted: Mapping[str, Collection[int]]) -> bool:
        """Whether a partition is led by another broker than the preferred one, which is in sync."""
        return any(
            partition["leader_id"] != partition["replica_nodes"][0]
            and partition["replica_nodes"][0] in partition["isr_nodes"]
            for topic in self._described(wanted)
            for partition in topic["partitions"]
            if partition["partition_index"] in wanted[topic["name"]]
        )

    def _described(self, topics: Iterable[str]) -> list[dict[str, Any]]:
        names = sorted(topics)
        described: list[dict[str, Any]] = self._ask(
            f"describe {listed(names, 3)}", lambda client: client.describe_topics(names)
        )
        return described

    def _limit_rate(self, broker: int, rate: str) -> None:
        """Tell a broker, which only it itself takes, how fast it may copy."""
        try:
            self._limit(ConfigResourceType.BROKER, str(broker), dict.fromkeys(_RATES, rate))
        except UnreachableError:
            self._until(lambda: broker not in self.brokers())
            if broker in self.brokers():  # one that has died copies nothing
                raise

    def _limit(self, kind: ConfigResourceType, name: str, configs: Mapping[str, str | None]) -> None:
        """Set a part of a throttle. Without it replicas would be copied at full speed: no refusal is passed over."""
        purpose = f"set {', '.join(configs)} of {name}"
        if why := self._ask(purpose, lambda client: set_configs(client, name, configs, kind)):
            raise _refusal(purpose, why)

    def _lift(self, kind: ConfigResourceType, name: str, configs: Iterable[str]) -> None:
        """Remove a part of a throttle; a topic may be gone by now."""
        purpose = f"remove {', '.join(configs)} of {name}"
        answer = self._ask(purpose, lambda client: alter_configs(client, kind, name, dict.fromkeys(configs)))
        if _FORBIDDEN in answer:
            raise _refusal(purpose, answer)


def _refusal(purpose: str, why: str) -> RefusedError:
    fix = "see why the cluster takes no throttle: without one, replicas are copied at full speed."
    if _FORBIDDEN in why:
        fix = "use a principal with the role planner and the duty placement."
    return RefusedError(f"The cluster refused to {purpose} ({why}).", fix=fix)


def _log_folders(
    client: Any,  # noqa: ANN401  untyped client
    topics: Collection[str],
    brokers: Iterable[int],
) -> list[dict[str, Any]]:
    """Ask each broker by itself: one that has just died tells nothing, and keeps no other from it."""
    folders: list[dict[str, Any]] = []
    for broker in brokers:
        with suppress(KafkaError):
            folders += client.describe_log_dirs(list(topics), [broker])
    return folders


def _by_topic(partitions: Iterable[PartitionKey]) -> dict[str, list[int]]:
    numbers: dict[str, list[int]] = defaultdict(list)
    for topic, partition in sorted(partitions):
        numbers[topic].append(partition)
    return numbers


def _replicas(of: Mapping[PartitionKey, tuple[int, ...]], topic: str) -> str:
    return ",".join(f"{number}:{broker}" for (name, number), on in sorted(of.items()) if name == topic for broker in on)
