"""Metrics that others expose and our rules use: brokers by `jmx.yaml`, disks by Debian's node exporter.

Each bean is one that Kafka 4.3 has, in the form in which the agent compares it with a rule; what the rule makes of it
is worked out here as the agent does it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from sluice.settings import PACKAGE

BEANS = (
    "kafka.controller<type=KafkaController, name=OfflinePartitionsCount><>Value",
    "kafka.server<type=ReplicaManager, name=UnderMinIsrPartitionCount><>Value",
    "kafka.server<type=ReplicaManager, name=UnderReplicatedPartitions><>Value",
    "kafka.server<type=BrokerTopicMetrics, name=MessagesInPerSec><>Count",
    "kafka.log<type=Log, name=Size, topic=flights, partition=0><>Value",
)
_TARGET = ("job", "instance")
_OF_DISK = (*_TARGET, "device", "fstype", "mountpoint")
OF_NODE = {"node_filesystem_avail_bytes": _OF_DISK, "node_filesystem_size_bytes": _OF_DISK}
OF_PROMETHEUS = {"up": _TARGET}
_FILE = PACKAGE / "containers" / "jmx.yaml"
JMX: dict[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Exposed:
    """What the agent makes of a bean."""

    name: str
    labels: tuple[str, ...]
    kind: str


def exposed(bean: str) -> Exposed | None:
    """Return what the first rule that fits makes of a bean; None if none does."""
    for rule in JMX["rules"]:
        if found := re.search(rule["pattern"], bean):
            name = re.sub(r"\$(\d)", lambda group: str(found[int(group[1])]), rule["name"])
            return Exposed(name.lower(), (*_TARGET, *rule.get("labels", ())), rule["type"])
    return None


OF_KAFKA = {made.name: made.labels for bean in BEANS if (made := exposed(bean)) is not None}
EXPORTED: dict[str, tuple[str, ...]] = {**OF_NODE, **OF_PROMETHEUS, **OF_KAFKA}
"""Labels by the name of the metric."""
