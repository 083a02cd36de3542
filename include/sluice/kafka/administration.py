"""Kafka administration through kafka-python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import tenacity
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    NoError,
    NotCoordinatorError,
    TopicAlreadyExistsError,
    for_code,
)
from kafka.structs import OffsetAndMetadata

from sluice.errors import RefusedError, SluiceError, UnreachableError
from sluice.kafka.extents import COMMITTED, read_extents
from sluice.kafka.records import read_stamps
from sluice.kafka.replicas import ReplicaCalls
from sluice.kafka.topic_changes import add_partitions, creation_request, refuse, set_configs
from sluice.topics.administration import RecordStamp, TopicCreation, TopicExtent, TopicState
from sluice.topics.identity import identity
from sluice.wording import listed

_NO_ERROR, _UNKNOWN_TOPIC = 0, 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_COORDINATED_YET = (CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError)


class KafkaPythonAdministration(ReplicaCalls):
    """Implements `sluice.topics.administration.KafkaAdministration`, which says what is raised."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all topics that we may see, Kafka's own too, ordered."""
        return tuple(sorted(self._ask("list the topics", lambda client: client.list_topics())))

    def describe(self, names: Iterable[str]) -> Mapping[str, TopicState]:
        """Return the state of those topics that exist."""
        wanted = sorted(set(names))
        if not wanted:  # kafka-python takes an empty list for "all topics"
            return {}
        return self._ask(f"describe {', '.join(wanted)}", lambda client: _states(client, wanted))

    def configs_in_force(self, names: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the configurations by which topics are kept, of those whose configurations are ours to see."""
        wanted = sorted(set(names))
        found = self._ask(
            f"describe the configurations of {', '.join(wanted)}", lambda client: _described(client, wanted)
        )
        values = {
            name: {key: str(config["value"]) for key, config in configs.items() if config["value"] is not None}
            for name, configs in found.items()
        }
        return {name: configs for name, configs in values.items() if configs}

    def create(self, creations: Sequence[TopicCreation]) -> None:
        """Create topics and return when the cluster shows them with a leader for every partition."""
        if not creations:
            return
        request = {creation.name: creation_request(creation) for creation in creations}
        # Asked once: the second answer to a creation that succeeded unheard would be "it exists already".
        answers = self._ask(
            f"create {', '.join(request)}",
            lambda client: client.create_topics(request, raise_errors=False)["topics"],
            repeatable=False,
        )
        created = [answer["name"] for answer in answers if answer["error_code"] == _NO_ERROR]
        self._ask(
            f"show {', '.join(created)}",
            lambda client: client.wait_for_topics(created, timeout_ms=self._patience_ms),
        )
        refusals = [_refusal(answer) for answer in answers if answer["error_code"] != _NO_ERROR]
        if refusals:
            raise RefusedError(
                f"The cluster refused to create {'; '.join(refusals)}.",
                fix="correct the topic spec, or the deployment's replication, and plan again.",
            )

    def grow(self, topic: str, partitions: int, assignment: Sequence[tuple[int, ...]] = ()) -> None:
        """Give a topic more partitions, and return when the cluster shows them, each with a leader."""
        purpose = f"give {topic} {partitions} partitions"
        # Asked once: the second answer to what succeeded unheard would be "it has as many already".
        why = self._ask(purpose, lambda client: add_partitions(client, topic, partitions, assignment), repeatable=False)
        refuse(purpose, why)
        self._ask(f"show {topic}", lambda client: client.wait_for_topics([topic], timeout_ms=self._patience_ms))
        self._wait(topic, lambda state: state.partitions == partitions)

    def set_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        """Set configurations on a topic, None for the broker's default, and return when the cluster shows them."""
        purpose = f"set {', '.join(sorted(configs))} of {topic}"
        refuse(purpose, self._ask(purpose, lambda client: set_configs(client, topic, configs)))
        self._wait(topic, lambda state: all(state.configs.get(name) == value for name, value in configs.items()))

    def beginnings(self, topic: str) -> Mapping[int, int]:
        """Return the first offset of each partition."""
        return self.extent(topic).beginnings

    def ends(self, topic: str) -> Mapping[int, int]:
        """Return the offset after the last record of each partition that may be read; see `TopicExtent.ends`."""
        return self.extent(topic).ends

    def extent(self, topic: str) -> TopicExtent:
        """Return what a topic holds."""
        answer = self.extents([topic])[topic]
        if isinstance(answer, SluiceError):
            raise answer
        return answer

    def extents(self, topics: Collection[str]) -> Mapping[str, TopicExtent | SluiceError]:
        """Return what each topic holds, or why that is not known of it."""
        names = sorted(set(topics))
        if not names:  # kafka-python takes an empty list for "all topics"
            return {}
        return self._ask(f"say what {listed(names, 3, 'topics')} hold", lambda client: read_extents(client, names))

    def offsets_at(self, topic: str, at: datetime) -> Mapping[int, int]:
        """Return the offset of the first record whose timestamp is no older than `at`; without one, the end."""
        ends = self.ends(topic)
        milliseconds = -((_EPOCH - at) // timedelta(milliseconds=1))  # rounded up: Kafka's times are whole ones
        wanted = {TopicPartition(topic, partition): milliseconds for partition in ends}
        first = self._ask(
            f"read the offsets of {topic}", lambda client: client.list_partition_offsets(wanted, COMMITTED)
        )
        return {
            at.partition: ends[at.partition] if start.offset < 0 else int(start.offset) for at, start in first.items()
        }

    def set_group(self, group: str, offsets: Mapping[str, int]) -> None:
        """Set the next offsets of a consumer group, per `topic/partition`. Its other offsets stay."""
        wanted = {
            TopicPartition(name.rpartition("/")[0], int(name.rpartition("/")[2])): OffsetAndMetadata(offset, "", -1)
            for name, offset in offsets.items()
        }
        refusals = self._ask(
            f"set the offsets of the group {group}",
            lambda client: _group_refusals(client, group, wanted, self.patience_seconds),
        )
        if refusals:
            raise RefusedError(
                f"The cluster refused to set the offsets of the group {group} ({', '.join(refusals)}).",
                fix="let nobody consume with it: Kafka changes only groups without members.",
            )

    def stamps(self, topic: str, offsets: Mapping[int, int]) -> Mapping[int, RecordStamp]:
        """Return the timestamp of the first record at or after an offset, per partition."""
        ends = self.ends(topic)
        within = {p: offset for p, offset in offsets.items() if offset < ends.get(p, 0)}
        return read_stamps(self.bootstrap, self.client, topic, within, deadline_seconds=self.patience_seconds)

    def _wait(self, topic: str, shows: Callable[[TopicState], bool]) -> None:
        """Wait until every broker that may be asked has heard of a change of a topic, or it is gone."""

        def shown() -> bool:
            state = self.describe([topic]).get(topic)
            return state is None or shows(state)

        self._until(shown)


_SOON_KNOWN = tenacity.Retrying(
    retry=tenacity.retry_if_exception_type(UnreachableError),
    stop=tenacity.stop_after_delay(5),
    wait=tenacity.wait_fixed(0.1),
    reraise=True,
)
"""For a topic that was just made or deleted: one broker lists it while another, which is asked next, does not know it
yet, or any more."""


def _states(client: Any, names: list[str]) -> Mapping[str, TopicState]:  # noqa: ANN401  untyped client
    existing, configs = _SOON_KNOWN.copy()(lambda: _with_configs(client, names))
    return {
        name: TopicState(
            name,
            identity(name, topic.get("topic_id")),
            tuple(tuple(partition["replica_nodes"]) for partition in _partitions(topic)),
            configs.get(name, {}),
            tuple(p["leader_id"] if p["leader_id"] >= 0 else None for p in _partitions(topic)),
            tuple(tuple(sorted(partition["isr_nodes"])) for partition in _partitions(topic)),
        )
        for name, topic in existing.items()
    }


def _with_configs(
    client: Any,  # noqa: ANN401  untyped client
    names: list[str],
) -> tuple[Mapping[str, dict[str, Any]], Mapping[str, Mapping[str, str]]]:
    existing = _topics(client, names)
    return existing, _configs(client, existing)


def _topics(client: Any, names: list[str]) -> Mapping[str, dict[str, Any]]:  # noqa: ANN401  untyped client
    answers = client.describe_topics(names)
    for topic in answers:
        if topic["error_code"] not in (_NO_ERROR, _UNKNOWN_TOPIC):  # neither "here" nor "not here"
            raise for_code(topic["error_code"])(topic["name"])
    return {topic["name"]: topic for topic in answers if topic["error_code"] == _NO_ERROR}


def _group_refusals(
    client: Any,  # noqa: ANN401  untyped client
    group: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    patience_seconds: float,
) -> Sequence[str]:
    """Set a group's offsets and return what was refused, by Kafka's names.

    A cluster's first group makes it create a topic of its own; until then no broker coordinates groups.
    """

    def attempt() -> Sequence[str]:
        answers = {answer for answer in client.alter_group_offsets(group, offsets).values() if answer is not NoError}
        for answer in answers & set(_NOT_COORDINATED_YET):
            raise answer(group)
        return sorted(answer.__name__ for answer in answers)

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(_NOT_COORDINATED_YET),
        stop=tenacity.stop_after_delay(patience_seconds),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=1),
        reraise=True,
    )
    return retrying(attempt)


def _configs(client: Any, names: Iterable[str]) -> Mapping[str, Mapping[str, str]]:  # noqa: ANN401  untyped client
    found = _described(client, names)
    # The client drops the error, and a topic without any configuration would look like one on which none is set.
    if silent := sorted(name for name, configs in found.items() if not configs):
        raise UnreachableError(
            f"Kafka does not return the configurations of {listed(silent, 3, 'topics')}: no authorization, or just "
            "made or deleted.",
            fix="use a principal that may see them (describe_configs, as the role planner has), or try again.",
        )
    return {
        name: {
            key: str(config["value"])
            for key, config in configs.items()
            if config["config_source"] == "DYNAMIC_TOPIC_CONFIG"
        }
        for name, configs in found.items()
    }


def _described(client: Any, names: Iterable[str]) -> Mapping[str, Mapping[str, Any]]:  # noqa: ANN401  untyped client
    """Return all configurations of topics with value and source; none of a topic that is not ours to see."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    if not resources:
        return {}
    answer: Mapping[Any, Mapping[str, Mapping[str, Any]]] = client.describe_configs(resources, config_filter="all")
    return next(iter(answer.values()), {})


def _partitions(topic: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(topic["partitions"], key=lambda partition: partition["partition_index"])


def _refusal(answer: dict[str, Any]) -> str:
    kind = for_code(answer["error_code"])
    why = "it exists already" if kind is TopicAlreadyExistsError else answer.get("error_message") or kind.__name__
    return f"{answer['name']} ({str(why).rstrip('.')})"
