"""Rules about mirrors: their ends exist and differ, they never feed each other, and no topic has two sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.dag_ids import mirror_unit
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.mirror import MirrorSpec, matching
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading


def mirrors_name_what_exists(reading: Reading) -> Iterator[Finding]:
    """Both ends of a mirror are deployments, and what it copies for pipelines is theirs."""
    for name, mirror in reading.catalog.mirrors.items():
        for key, deployment in (("source", mirror.source), ("target", mirror.target)):
            if (Kind.DEPLOYMENT, deployment) not in reading.documents:
                yield reading.finding(Kind.MIRROR, name, (key,), *reading.absent(Kind.DEPLOYMENT, deployment))
        for number, pipeline in enumerate(mirror.pipelines):
            if (Kind.PIPELINE, pipeline) not in reading.documents:
                yield reading.finding(
                    Kind.MIRROR, name, ("pipelines", number), *reading.absent(Kind.PIPELINE, pipeline)
                )
        if mirror_unit(name) in reading.catalog.units():
            message = f"its process would be named like the driver {mirror_unit(name)!r} of a pipeline or topic."
            yield reading.finding(Kind.MIRROR, name, ("name",), message, "rename one of them.")


def mirrors_join_two_clusters(reading: Reading) -> Iterator[Finding]:
    """A mirror copies from one cluster into another, in which topics can be made."""
    deployments = reading.catalog.deployments
    for name, mirror in reading.catalog.mirrors.items():
        source, target = deployments.get(mirror.source), deployments.get(mirror.target)
        if source is None or target is None or mirror.source == mirror.target:
            continue
        if shared := _addresses(source) & _addresses(target):
            message = f"{mirror.source} and {mirror.target} are one cluster ({', '.join(sorted(shared))})."
            yield reading.finding(Kind.MIRROR, name, ("target",), message, "name a deployment with another Kafka.")
        service = target.kafka.service
        if service.topics is not None:
            message = f"{service.topics.why}, and MirrorMaker makes those that it copies and those that it works with."
            yield reading.finding(
                Kind.MIRROR, name, ("target",), message, "name a target that lets clients make topics."
            )
        replication = mirror.replication or target.replication
        if service.replication is not None and replication != service.replication:
            message = f"the copies would have {replication} replicas, and {service.title} has {service.replication}."
            yield reading.finding(Kind.MIRROR, name, ("replication",), message, f"write {service.replication}.")


def mirrors_never_feed_each_other(reading: Reading) -> Iterator[Finding]:
    """Copies keep their names, so what comes back to where it was would be copied again, for ever."""
    mirrors = reading.catalog.mirrors
    following = {
        name: {other for other, its in mirrors.items() if its.source == mirror.target}
        for name, mirror in mirrors.items()
    }
    for name, mirror in sorted(mirrors.items()):
        ways = sorted(_reached(name, following))
        if name in ways:
            message = f"its records come back to {mirror.source} (by {', '.join(ways)}), under the same names."
            fix = "remove one of these mirrors; after a fail-over, turn the direction of this one round."
            yield reading.finding(Kind.MIRROR, name, ("target",), message, fix)


def copies_have_one_source(reading: Reading) -> Iterator[Finding]:
    """No two mirrors fill one topic: its offsets would be those of neither source."""
    mirrors = reading.catalog.mirrors
    for name, mirror in sorted(mirrors.items()):
        for other, its in sorted(mirrors.items()):
            same = mirror.target == its.target and other < name
            if same and (both := _overlap(reading.catalog, mirror, its)):
                message = f"{', '.join(both)} is also copied into {mirror.target} by the mirror {other}."
                yield reading.finding(Kind.MIRROR, name, ("topics",), message, "leave it to one of them.")


def topics_of_mirror(catalog: Catalog, mirror: MirrorSpec) -> tuple[str, ...]:
    """Return all patterns of a mirror: its own, and the source topics of its pipelines."""
    of_pipelines = (
        topic for name in mirror.pipelines if name in catalog.pipelines for topic in catalog.pipelines[name].topics
    )
    return tuple(dict.fromkeys((*mirror.topics, *of_pipelines)))


def _addresses(deployment: DeploymentSpec) -> frozenset[str]:
    """Return where a cluster is; there is one embedded cluster."""
    kafka = deployment.kafka
    return frozenset(kafka.bootstrap) if kafka.kind == "external" else frozenset({"the embedded broker"})


def _reached(start: str, following: Mapping[str, set[str]]) -> set[str]:
    reached, left = set[str](), [start]
    while left:
        for after in following[left.pop()] - reached:
            reached.add(after)
            left.append(after)
    return reached


def _overlap(catalog: Catalog, one: MirrorSpec, other: MirrorSpec) -> list[str]:
    """Return what both copy, as far as the specs say: declared topics, and patterns that are alike."""
    first, second = topics_of_mirror(catalog, one), topics_of_mirror(catalog, other)
    known = tuple(sorted({*catalog.topics, *first, *second}))
    return sorted({*matching(first, known)} & {*matching(second, known)} | {*first} & {*second})
