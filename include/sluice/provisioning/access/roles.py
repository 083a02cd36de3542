"""What each role needs of the cluster, from the other specs: nothing that another right implies, and no `*`.

The rights are those that Sluice's own code uses; a test takes every one of them away on a real cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from sluice.provisioning.access.acl import CLUSTER, THE_CLUSTER, Acl, Resource, Right, kafka_address, least
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.access import Duty, ExtraRight, Operation, PrincipalSpec, ResourceKind, Role
from sluice.specs.model.outputs import TopicOutput


def needed(spec: PrincipalSpec, catalog: Catalog) -> frozenset[Acl]:
    """Return the least list with which a principal can do what its role does."""
    return _entries(spec, least(_OF[spec.role](spec, catalog)))


def declared(spec: PrincipalSpec, catalog: Catalog) -> frozenset[Acl]:
    """Return the entries that a spec declares: what its role needs, and what is written out beyond it."""
    if spec.state == "absent":
        return frozenset()
    return needed(spec, catalog) | _entries(spec, map(_right, spec.extra))


def _entries(spec: PrincipalSpec, rights: Iterable[Right]) -> frozenset[Acl]:
    hosts = {kafka_address(host) for host in spec.hosts}
    return frozenset(Acl(spec.principal, right, host) for right in rights for host in hosts)


def _right(extra: ExtraRight) -> Right:
    name = THE_CLUSTER if extra.name is None else extra.name
    return Right(Resource(ResourceKind(extra.resource), name, extra.pattern), extra.operation)


def _on(kind: ResourceKind, name: str, *operations: Operation) -> Iterator[Right]:
    return (Right(Resource(kind, name), operation) for operation in operations)


def _of_feed(spec: PrincipalSpec, catalog: Catalog) -> Iterator[Right]:
    """A feed that is resumed reads what it has sent: it sends nothing twice."""
    for name, feed in catalog.feeds.items():
        if _in_scope(spec, name):
            yield from _on(ResourceKind.TOPIC, feed.topic, Operation.WRITE, Operation.READ)


def _of_stream(spec: PrincipalSpec, catalog: Catalog) -> Iterator[Right]:
    """Spark assigns partitions itself and commits to no group; an idempotent producer needs no more than to write."""
    for unit in catalog.units().values():
        if not _in_scope(spec, unit.name):
            continue
        pipelines = [catalog.pipelines[name] for name in unit.pipelines]
        for topic in {*unit.topics, *(topic for pipeline in pipelines for topic in pipeline.topics)}:
            yield from _on(ResourceKind.TOPIC, topic, Operation.READ)
        for output in (output for pipeline in pipelines for output in pipeline.written_topics):
            yield from _on(ResourceKind.TOPIC, output.topic, Operation.WRITE)


def _of_backfill(spec: PrincipalSpec, catalog: Catalog) -> Iterator[Right]:
    for name, pipeline in catalog.interval_pipelines.items():
        for topic in pipeline.topics if _in_scope(spec, name) else ():
            yield from _on(ResourceKind.TOPIC, topic, Operation.READ)


def _of_watcher(spec: PrincipalSpec, catalog: Catalog) -> Iterator[Right]:
    """It asks for offsets. To commit to a group, as a mirror does, Kafka requires the right to read the topic."""
    for topic in catalog.topics:
        if _in_scope(spec, topic):
            yield from _on(ResourceKind.TOPIC, topic, Operation.DESCRIBE)
    for stream, group in catalog.mirrored:
        for topic in (each for each in stream.topics if _in_scope(spec, each)):
            yield from _on(ResourceKind.TOPIC, topic, Operation.READ)
            yield from _on(ResourceKind.GROUP, group, Operation.READ)


def _of_server(spec: PrincipalSpec, catalog: Catalog) -> Iterator[Right]:
    """It reads what topic outputs deliver, in no group."""
    for pipeline in catalog.pipelines.values():
        for output in pipeline.written_topics:
            if isinstance(output, TopicOutput) and _in_scope(spec, output.topic):
                yield from _on(ResourceKind.TOPIC, output.topic, Operation.READ)


_LOOKING = (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
_OF_TOPIC: Mapping[Duty, tuple[Operation, ...]] = {
    Duty.TOPICS: (Operation.CREATE, Operation.ALTER, Operation.ALTER_CONFIGS),
    Duty.SAMPLING: (Operation.READ,),
    Duty.PLACEMENT: (Operation.ALTER_CONFIGS,),  # a topic lists its replicas under a throttle
}
_OF_CLUSTER: Mapping[Duty, tuple[Operation, ...]] = {
    Duty.PLACEMENT: (Operation.ALTER, Operation.ALTER_CONFIGS),
    Duty.ACCESS: (Operation.ALTER,),
}


def _of_planner(spec: PrincipalSpec, catalog: Catalog) -> Iterator[Right]:
    """Every duty but access needs to see all topics, and which replicas move."""
    for duty in spec.all_duties:
        yield from (Right(CLUSTER, operation) for operation in _OF_CLUSTER.get(duty, ()))
        for topic in catalog.kafka_topics():
            yield from _on(ResourceKind.TOPIC, topic, *_OF_TOPIC.get(duty, ()))
        if duty is Duty.REMOVAL:
            for topic in catalog.absent:
                yield from _on(ResourceKind.TOPIC, topic, Operation.DELETE)
        if duty is not Duty.ACCESS:
            yield Right(CLUSTER, Operation.DESCRIBE)
            for topic in catalog.kafka_topics().keys() | catalog.absent.keys():
                yield from _on(ResourceKind.TOPIC, topic, *_LOOKING)


def _in_scope(spec: PrincipalSpec, name: str) -> bool:
    return spec.scope is None or name in spec.scope


_OF: Mapping[Role, Callable[[PrincipalSpec, Catalog], Iterator[Right]]] = {
    Role.FEED: _of_feed,
    Role.STREAM: _of_stream,
    Role.BACKFILL: _of_backfill,
    Role.PLANNER: _of_planner,
    Role.WATCHER: _of_watcher,
    Role.SERVER: _of_server,
}
