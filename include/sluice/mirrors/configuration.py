"""What MirrorMaker 2 is told: one direction, names as they are, each record once, and secrets by reference.

MirrorMaker writes the settings of its connectors into a topic of the target, where everybody who may read it would find
the passwords of both clusters. References (`${file:…}`) are resolved by the process and written as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from sluice.specs.deployments.mirror import EXCLUDED, MirrorSpec
from sluice.specs.deployments.secrecy import is_secret

_TRANSFORM = "position"
_CLIENTS = ("", "consumer.", "producer.", "admin.")
"""MirrorMaker itself hands on to its clients only those settings that it knows."""
_REFRESH_SECONDS = 30
"""How soon a new topic, a new partition or a changed configuration is seen."""


@dataclass(frozen=True)
class MirrorEnd:
    """One of the two clusters.

    Attributes:
        alias: the deployment's name.
        bootstrap: host:port of some brokers.
        client: settings of Java's client under Kafka's names; they may hold passwords.
    """

    alias: str
    bootstrap: tuple[str, ...]
    client: Mapping[str, str]


@dataclass(frozen=True)
class MakerSettings:
    """The two files that MirrorMaker reads.

    Attributes:
        properties: without a secret.
        secrets: what they refer to, for a file that no other user may read.
    """

    properties: Mapping[str, str]
    secrets: Mapping[str, str]


def header_of(mirror: str) -> str:
    """Return the header of a copied record that holds its offset in the source, in ASCII digits."""
    return f"sluice-mirror-{mirror}"


def maker_settings(
    spec: MirrorSpec, topics: tuple[str, ...], source: MirrorEnd, target: MirrorEnd, *, replication: int, secrets: str
) -> MakerSettings:
    """Return what MirrorMaker is told.

    Args:
        spec: the mirror.
        topics: patterns of all that it copies.
        source: what is copied.
        target: where to.
        replication: replicas of what it makes in the target.
        secrets: the path of the file that will hold the secrets.
    """
    flow = f"{source.alias}->{target.alias}"
    held = dict(_of_clients(source, target))
    hidden = {key: value for key, value in held.items() if is_secret(key)}
    references = {key: f"${{file:{secrets}:{key}}}" for key in hidden}
    properties = {
        "clusters": f"{source.alias},{target.alias}",
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.file.param.allowed.paths": secrets,
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "emit.heartbeats.enabled": "false",  # of the other direction: they would be written to the source
        **held,
        **references,
        # Else what was aborted would be copied as data.
        f"{source.alias}.consumer.isolation.level": "read_committed",
        **{f"{target.alias}.{key}": value for key, value in _of_worker(replication)},
        **{f"{flow}.{key}": value for key, value in _of_flow(spec, topics, replication)},
    }
    return MakerSettings(properties, hidden)


def _of_clients(*ends: MirrorEnd) -> Iterator[tuple[str, str]]:
    for end in ends:
        yield f"{end.alias}.bootstrap.servers", ",".join(end.bootstrap)
        for key, value in end.client.items():
            yield from ((f"{end.alias}.{client}{key}", value) for client in _CLIENTS)


def _of_worker(replication: int) -> Iterator[tuple[str, str]]:
    yield "exactly.once.source.support", "enabled"
    for topic in ("offset", "status", "config"):
        yield f"{topic}.storage.replication.factor", str(replication)
    yield "offset.storage.partitions", "1"
    yield "status.storage.partitions", "1"


def _of_flow(spec: MirrorSpec, topics: tuple[str, ...], replication: int) -> Iterator[tuple[str, str]]:
    yield "enabled", "true"
    yield "topics", ",".join(topics)
    yield "topics.exclude", ",".join(EXCLUDED)
    yield "replication.factor", str(replication)
    for topic in ("offset-syncs", "heartbeats", "checkpoints"):
        yield f"{topic}.topic.replication.factor", str(replication)
    yield "offset-syncs.topic.location", "target"  # the source is what may be lost
    yield "heartbeats.replication.enabled", "false"
    yield "sync.topic.acls.enabled", "false"  # rights are what the specs of the target's deployment say
    yield "sync.topic.configs.enabled", _flag(spec.sync_configs)
    yield "sync.topic.configs.interval.seconds", str(_REFRESH_SECONDS)
    yield "refresh.topics.interval.seconds", str(_REFRESH_SECONDS)
    yield "emit.heartbeats.enabled", _flag(spec.heartbeats is not None)
    yield from _seconds("emit.heartbeats.interval.seconds", spec.heartbeats)
    yield "emit.offset-syncs.enabled", _flag(spec.checkpoints is not None)  # by which checkpoints are translated
    yield "emit.checkpoints.enabled", _flag(spec.checkpoints is not None)
    yield "sync.group.offsets.enabled", _flag(spec.checkpoints is not None)
    yield from _seconds("emit.checkpoints.interval.seconds", spec.checkpoints)
    yield from _seconds("sync.group.offsets.interval.seconds", spec.checkpoints)
    yield "transforms", _TRANSFORM
    yield f"transforms.{_TRANSFORM}.type", "sluice.kafka.SourcePosition"
    yield f"transforms.{_TRANSFORM}.header", header_of(spec.name)


def _flag(wanted: bool) -> str:
    return "true" if wanted else "false"


def _seconds(key: str, interval: timedelta | None) -> Iterator[tuple[str, str]]:
    if interval is not None:
        yield key, str(int(interval.total_seconds()))
