"""What topics hold: id, first and end offsets of all partitions, of many topics in four requests to each broker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka import TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import for_code

from sluice.errors import RefusedError, SluiceError, UnreachableError
from sluice.topics.administration import TopicExtent
from sluice.topics.identity import identity

COMMITTED = "read_committed"
"""The isolation level under which a partition ends before its oldest open transaction."""

_NO_ERROR, _UNKNOWN_TOPIC, _NO_LEADER = 0, 3, -1


def missing(topic: str) -> RefusedError:
    """Return what is said of a topic that the cluster does not have."""
    return RefusedError(f"The topic {topic!r} does not exist.", fix="run `sluice topics apply`.")


def read_extents(client: Any, names: Sequence[str]) -> Mapping[str, TopicExtent | SluiceError]:  # noqa: ANN401  untyped client
    """Ask for the topics, then for the offsets of those that can be asked for.

    Raises:
        KafkaError: no broker answered, or a partition was moved or deleted in between: nothing is known of any.
    """
    topics = {topic["name"]: topic for topic in client.describe_topics(list(names))}
    faults = {name: fault for name in names if (fault := _fault(name, topics.get(name))) is not None}
    partitions = [
        TopicPartition(name, partition["partition_index"])
        for name in names
        if name not in faults
        for partition in topics[name]["partitions"]
    ]
    beginnings = _offsets(client, partitions, OffsetSpec.EARLIEST)
    written = _offsets(client, partitions, OffsetSpec.LATEST)  # before the ends: what comes in between is not held
    ends = _offsets(client, partitions, OffsetSpec.LATEST, COMMITTED)
    return {
        name: faults[name]
        if name in faults
        else TopicExtent(
            identity(name, topics[name].get("topic_id")),  # an older protocol has none
            beginnings[name],
            ends[name],
            _held(ends[name], written[name]),
        )
        for name in names
    }


def _held(ends: Mapping[int, int], written: Mapping[int, int]) -> Mapping[int, int]:
    """Return how many offsets lie behind an open transaction, of partitions that have one."""
    return {p: written[p] - end for p, end in ends.items() if written.get(p, end) > end}


def _fault(name: str, topic: Mapping[str, Any] | None) -> SluiceError | None:
    """Return why a topic's offsets cannot be asked for."""
    code = _UNKNOWN_TOPIC if topic is None else int(topic["error_code"])
    if topic is None or code == _UNKNOWN_TOPIC:
        return missing(name)
    if code != _NO_ERROR:
        fault = UnreachableError(f"Kafka does not say what {name} holds ({for_code(code).__name__}).")
        fault.__cause__ = for_code(code)(
            name
        )  # by which a failure is classified: what is not allowed is not tried again
        return fault
    leaderless = sorted(p["partition_index"] for p in topic["partitions"] if p["leader_id"] == _NO_LEADER)
    if leaderless:
        which = ", ".join(map(str, leaderless))
        return UnreachableError(f"No broker leads partition {which} of {name}.", fix="see whether the brokers run.")
    return None


def _offsets(
    client: Any,  # noqa: ANN401  untyped client
    partitions: Iterable[TopicPartition],
    spec: OffsetSpec,
    isolation: str = "read_uncommitted",
) -> Mapping[str, Mapping[int, int]]:
    offsets: dict[str, dict[int, int]] = defaultdict(dict)
    wanted = dict.fromkeys(partitions, spec)
    for partition, at in sorted(client.list_partition_offsets(wanted, isolation).items()) if wanted else ():
        offsets[partition.topic][partition.partition] = int(at.offset)
    return offsets
