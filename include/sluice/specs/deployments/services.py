"""What the services that speak Kafka's protocol do not do, one record each. Pure data.

The page `kafka-services` (`sluice docs`) has the address of the page that each claim was read in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

ServiceName: TypeAlias = Literal["apache", "event_hubs", "confluent_cloud"]

CONNECTION_STRING = "$ConnectionString"
"""The user of Event Hubs whose password is a connection string."""


@dataclass(frozen=True)
class Elsewhere:
    """Something that a service does not let its clients do by Kafka's protocol.

    Attributes:
        why: a clause without an end.
        fix: what to do in that service instead, a clause without an end.
    """

    why: str
    fix: str


@dataclass(frozen=True)
class KafkaService:
    """What Sluice can do at a service, and how it connects. Where it is None, Kafka's protocol does it.

    Attributes:
        title: what its maker calls it.
        topics: topics are created, grown and deleted elsewhere.
        placement: replicas are placed elsewhere; their number is the service's affair, too.
        rights: access control lists are kept elsewhere.
        passwords: users and their passwords are kept elsewhere.
        configs: the topic configurations that can be set; None: all.
        other_configs: what is done about any other.
        replication: replicas that every topic has; None: as declared.
        port: where it serves Kafka's protocol; None: anywhere.
        mechanism: the only one by which Sluice can log in; None: any.
        user: the only user name; None: any.
        client: what its clients must or should set, under Kafka's names.
    """

    title: str
    topics: Elsewhere | None = None
    placement: Elsewhere | None = None
    rights: Elsewhere | None = None
    passwords: Elsewhere | None = None
    configs: frozenset[str] | None = None
    other_configs: Elsewhere = Elsewhere("", "")
    replication: int | None = None
    port: int | None = None
    mechanism: str | None = None
    user: str | None = None
    client: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def sets(self, config: str) -> bool:
        """Whether a topic configuration can be set."""
        return self.configs is None or config in self.configs

    @property
    def keeps_access(self) -> bool:
        """Whether nothing of access can be seen or changed by Kafka's protocol."""
        return self.rights is not None and self.passwords is not None


APACHE = KafkaService("Apache Kafka")

EVENT_HUBS = KafkaService(
    "Azure Event Hubs",
    topics=Elsewhere(
        "Event Hubs does not manage its topics by Kafka's administration",
        "create, change or delete the event hub in the portal, by `az eventhubs eventhub`, or in a template "
        "(`partitionCount`; more partitions only in the premium and dedicated tiers)",
    ),
    placement=Elsewhere("Event Hubs has no brokers that a client could place replicas on", "remove it for Event Hubs"),
    rights=Elsewhere(
        "Event Hubs has no access control lists",
        "assign Azure roles, or rules of shared access (send, listen), to those who connect",
    ),
    passwords=Elsewhere(
        "Event Hubs has no users of Kafka's", "give each process a connection string of a rule of its own"
    ),
    configs=frozenset(),
    other_configs=Elsewhere(
        "Event Hubs lets no client set configurations of a topic",
        "set the event hub's `retentionDescription` (`cleanupPolicy`, `retentionTimeInHours`) and "
        "`messageTimestampDescription` (`timestampType`) in Azure; it has no others",
    ),
    port=9093,
    mechanism="PLAIN",
    user=CONNECTION_STRING,
    client=MappingProxyType(
        {
            "security.protocol": "SASL_SSL",
            "metadata.max.age.ms": "180000",  # Azure closes connections that were idle for 240 s
            "connections.max.idle.ms": "180000",
            "request.timeout.ms": "60000",
            "max.request.size": "1000000",  # a larger request closes the connection
        }
    ),
)

CONFLUENT_CLOUD = KafkaService(
    "Confluent Cloud",
    placement=Elsewhere(
        "Confluent Cloud places the replicas itself, and lets no client change brokers", "remove it for Confluent Cloud"
    ),
    passwords=Elsewhere(
        "Confluent Cloud knows API keys of service accounts and no users with passwords",
        "create an API key of the account (`confluent api-key create`), and name its principal (`User:sa-…`) in "
        "include/access",
    ),
    configs=frozenset(
        {
            *("cleanup.policy", "delete.retention.ms", "max.compaction.lag.ms", "max.message.bytes"),
            *("message.timestamp.difference.max.ms", "message.timestamp.type", "min.compaction.lag.ms"),
            *("min.insync.replicas", "retention.bytes", "retention.ms", "segment.bytes", "segment.ms"),
        }
    ),
    other_configs=Elsewhere(
        "it is not among the topic settings that Confluent documents as changeable",
        "remove it for Confluent Cloud, or set it in its console if your cluster has it",
    ),
    replication=3,
    mechanism="PLAIN",
    client=MappingProxyType({"security.protocol": "SASL_SSL"}),
)

SERVICES: Mapping[ServiceName, KafkaService] = MappingProxyType(
    {"apache": APACHE, "event_hubs": EVENT_HUBS, "confluent_cloud": CONFLUENT_CLOUD}
)
