"""What one broker says, asked directly: the versions that it speaks, its cluster's brokers, the controller's clock."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from kafka.errors import KafkaError
from kafka.protocol.admin import DescribeQuorumRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from sluice.clock import Clock
from sluice.connectivity.facts import AdvertisedBroker, ClockReading
from sluice.kafka.client.conversation import Conversation

_METADATA, _DESCRIBE_QUORUM = 3, 55
_METADATA_VERSION = 8
_FIRST_WITH_CLUSTER, _FIRST_WITH_TIMES = 2, 1
_QUORUM_TOPIC = "__cluster_metadata"


def api_versions(talk: Conversation) -> Mapping[int, tuple[int, int]]:
    """Return which versions a broker speaks of each request: (lowest, highest), by the request's number.

    Raises:
        OSError: the connection ended, or nothing came in time.
        KafkaError: what came is no answer.
    """
    answer = talk.ask(ApiVersionsRequest(version=0))
    return {int(key.api_key): (int(key.min_version), int(key.max_version)) for key in answer.api_keys}


def read_metadata(
    talk: Conversation, versions: Mapping[int, tuple[int, int]]
) -> tuple[str, tuple[AdvertisedBroker, ...]]:
    """Return the cluster's id, empty where it has none, and its brokers, ordered by node.

    Raises:
        OSError: the connection ended, or nothing came in time.
        KafkaError: what came is no answer.
    """
    lowest, highest = versions.get(_METADATA, (_METADATA_VERSION, _METADATA_VERSION))
    version = max(lowest, min(highest, _METADATA_VERSION))
    answer = talk.ask(MetadataRequest(version=version, topics=[]))
    brokers = sorted((int(b.node_id), f"{_bracketed(b.host)}:{b.port}") for b in answer.brokers)
    cluster = str(answer.cluster_id or "") if version >= _FIRST_WITH_CLUSTER else ""
    return cluster, tuple(AdvertisedBroker(node, address) for node, address in brokers)


def read_clock(talk: Conversation, versions: Mapping[int, tuple[int, int]], clock: Clock) -> ClockReading | None:
    """Return the clock of the active controller beside ours; None where it is not told.

    The leader of the metadata quorum says of itself that it last fetched now (KIP-836). That reads and writes nothing.
    """
    lowest, highest = versions.get(_DESCRIBE_QUORUM, (0, 0))
    version = min(highest, DescribeQuorumRequest.max_version)
    if version < max(lowest, _FIRST_WITH_TIMES):
        return None
    topic = DescribeQuorumRequest.TopicData
    wanted = topic(topic_name=_QUORUM_TOPIC, partitions=[topic.PartitionData(partition_index=0)])
    before = clock.now()
    try:
        answer = talk.ask(DescribeQuorumRequest(version=version, topics=[wanted]))
    except (OSError, KafkaError):
        return None
    after = clock.now()
    if answer.error_code or not answer.topics or answer.topics[0].partitions[0].error_code:
        return None
    quorum = answer.topics[0].partitions[0]
    stamps = [int(v.last_fetch_timestamp) for v in quorum.current_voters if v.replica_id == quorum.leader_id]
    if not stamps or stamps[0] <= 0:
        return None
    theirs = datetime.fromtimestamp(stamps[0] / 1000, UTC)
    half = (after - before) / 2
    return ClockReading((theirs - (before + half)).total_seconds(), half.total_seconds())


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
