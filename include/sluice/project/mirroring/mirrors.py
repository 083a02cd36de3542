"""The mirrors of a project: their clusters, their process and how far it is behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from sluice.errors import NotConfiguredError, RefusedError, SluiceError, SpecError, UnreachableError
from sluice.mirrors.configuration import header_of
from sluice.mirrors.lag import CopyLag, MirrorLag, MirrorVerdict, judge
from sluice.mirrors.translation import (
    CopiedRecord,
    PartitionTranslation,
    copied_record,
    reaches_back,
    translate,
)
from sluice.project.environments import how_to_set, not_set
from sluice.project.kafka import ProjectKafka
from sluice.project.project import Project
from sluice.specs.catalog.dag_ids import mirror_unit
from sluice.specs.catalog.variables import variables_of_mirror
from sluice.specs.deployments.mirror import MirrorSpec, matching
from sluice.specs.rules.connections.mirror_rules import topics_of_mirror
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.claimed import Claim
from sluice.streams.life.life import UnitLife
from sluice.topics.administration import KafkaAdministration, TopicExtent
from sluice.topics.records import RecordReader

PATIENCE_SECONDS = 15.0
_FIRST_SPAN = 256


@dataclass(frozen=True)
class Cluster:
    """One end of a mirror, open."""

    administration: KafkaAdministration
    reader: RecordReader


@dataclass(frozen=True)
class MirrorStanding:
    """The verdict on a mirror, and since when (UTC) its process has had the same."""

    verdict: MirrorVerdict
    since: datetime


@dataclass(frozen=True)
class ProjectMirrors:
    """The mirrors that the specs declare."""

    project: Project

    def spec(self, name: str) -> MirrorSpec:
        """Return a mirror's spec.

        Raises:
            SpecError: there is no such mirror.
        """
        mirrors = self.project.catalog.mirrors
        if name not in mirrors:
            raise SpecError(
                f"there is no mirror {name!r}; include/mirrors has {', '.join(sorted(mirrors)) or 'none'}.",
                fix="name one of these, or write one.",
            )
        return mirrors[name]

    def kafka(self, deployment: str) -> ProjectKafka:
        """Return the Kafka of a deployment."""
        project = self.project
        return ProjectKafka(project.catalog.deployments[deployment].kafka, project.catalog.users, project.folder)

    @contextmanager
    def cluster(self, deployment: str) -> Iterator[Cluster]:
        """Open the Kafka of a deployment.

        Raises:
            NotReadyError: it is embedded and not up, or a password is missing.
        """
        kafka = self.kafka(deployment)
        with (
            kafka.administration(patience_seconds=PATIENCE_SECONDS) as administration,
            kafka.reader(patience_seconds=PATIENCE_SECONDS) as reader,
        ):
            yield Cluster(administration, reader)

    def patterns(self, name: str) -> tuple[str, ...]:
        """Return the patterns of all topics that a mirror copies."""
        return topics_of_mirror(self.project.catalog, self.spec(name))

    def life(self, name: str) -> UnitLife:
        """Return the life of a mirror's process: that of a unit, with another program.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        project = self.project
        return UnitLife(
            project.records.registry(),
            project.processes.launcher(),
            deployment=project.settings.deployment,
            unit=mirror_unit(name),
            job=lambda _attempt: project.processes.mirror(name),
            refuse=lambda _unit: self._refuse_unconfigured(name),
            clock=project.clock,
        )

    def start(self, name: str, *, by: str, why: str) -> Claim:
        """Start a mirror's process, or adopt the one that lives.

        Raises:
            NotConfiguredError: a variable of a password is not set.
            RefusedError: a topic of the target holds what this mirror has not copied, or has too few partitions.
            UnreachableError: a cluster or the control database does not answer.
        """
        life = self.life(name)
        if not life.observe().alive:
            self.refuse_foreign(name)
        return life.start(by, why)

    def refuse_foreign(self, name: str) -> None:
        """Make sure that the target holds nothing of the topics but copies: else no position could be translated.

        Raises:
            RefusedError: names each topic, and why.
            UnreachableError: a cluster does not answer.
        """
        spec = self.spec(name)
        with self.cluster(spec.source) as source, self.cluster(spec.target) as target:
            extents = self._extents(source, self._names(source, name))
            held = self._extents(target, tuple(extents))
            faults = [
                fault
                for topic, there in held.items()
                if (fault := _foreign(target.reader, topic, extents[topic], there, header_of(name)))
            ]
        if faults:
            raise RefusedError(
                f"the mirror {name} was not started: {'; '.join(faults)}.",
                fix="delete these topics in the target, or leave them out of the mirror.",
            )

    def lag(self, name: str) -> MirrorLag:
        """Return how far a mirror is behind: the source's ends against what the newest copies say of themselves.

        Raises:
            UnreachableError: a cluster does not answer.
        """
        spec = self.spec(name)
        with self.cluster(spec.source) as source, self.cluster(spec.target) as target:
            names = self._names(source, name)
            extents, there = self._extents(source, names), self._extents(target, names)
            partitions = [
                lag
                for topic, extent in extents.items()
                for lag in _lags(source, target, (topic, extent), there.get(topic), name)
            ]
        return MirrorLag(tuple(partitions), tuple(topic for topic in extents if topic not in there))

    def translate(self, name: str, offsets: Mapping[str, int]) -> dict[str, PartitionTranslation]:
        """Return where positions in the source are in the target, per `topic/partition`.

        Raises:
            SpecError: the mirror does not exist, or the target has no such partition.
            UnreachableError: the target does not answer.
        """
        spec, found = self.spec(name), dict[str, PartitionTranslation]()
        with self.cluster(spec.target) as target:
            for key, offset in offsets.items():
                topic, _, number = key.rpartition("/")
                extent = self._extents(target, (topic,)).get(topic)
                if extent is None or int(number) not in extent.ends:
                    raise SpecError(f"{spec.target} has no partition {key}.", fix="name one as flights/0=1200.")
                bounds = (extent.beginnings[int(number)], extent.ends[int(number)])
                found[key] = translated(target.reader, (topic, int(number)), bounds, offset, header=header_of(name))
        return found

    def verdict(self, name: str) -> tuple[MirrorVerdict, MirrorLag | None]:
        """Return the verdict on a mirror, and how far it is behind; None where that is not known or nobody asks.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        found, lag, _ = self._judged(name)
        return found, lag

    def standing(self, name: str) -> MirrorStanding:
        """Return the verdict on a mirror, and since when it is the same: that is put on record.

        Raises:
            UnreachableError: the control database could not be queried, or written.
        """
        found, _, generation = self._judged(name)
        unit, registry = mirror_unit(name), self.project.records.registry()
        registry.record_verdict(unit, name, generation, Verdict(found.health, found.why, found.what_to_do))
        return MirrorStanding(found, registry.newest_verdicts([unit])[unit][name].at)

    def _judged(self, name: str) -> tuple[MirrorVerdict, MirrorLag | None, int]:
        """Return the verdict, how far it is behind, and the generation of its process."""
        spec, status = self.spec(name), self.life(name).observe()
        lag: MirrorLag | str = "its process does not run."
        if status.alive:
            try:
                lag = self.lag(name)
            except SluiceError as error:
                lag = str(error)
        found = judge(spec, status, lag, self.project.clock.now())
        generation = 0 if status.attempt is None else status.attempt.generation
        return found, lag if isinstance(lag, MirrorLag) else None, generation

    def _names(self, source: Cluster, name: str) -> tuple[str, ...]:
        return matching(self.patterns(name), source.administration.names())

    @staticmethod
    def _extents(cluster: Cluster, names: tuple[str, ...]) -> Mapping[str, TopicExtent]:
        """Return what those topics hold that there are."""
        extents = cluster.administration.extents(names) if names else {}
        for fault in extents.values():
            if isinstance(fault, UnreachableError):
                raise fault
        return {topic: extent for topic, extent in extents.items() if isinstance(extent, TopicExtent)}

    def _refuse_unconfigured(self, name: str) -> None:
        if names := not_set(variables_of_mirror(self.project.catalog, self.spec(name))):
            raise NotConfiguredError(
                f"the deployments of the mirror {name!r} name {', '.join(names)}, which "
                f"{'is' if len(names) == 1 else 'are'} not set here. Nothing was started.",
                fix=how_to_set(names),
            )


def _lags(
    source: Cluster, target: Cluster, here: tuple[str, TopicExtent], held: TopicExtent | None, mirror: str
) -> list[CopyLag]:
    """Return how far each partition of a topic is behind."""
    topic, extent = here
    found = {} if held is None else newest_origins(target.reader, topic, held, header_of(mirror))
    copied = {p: found.get(p, first) for p, first in extent.beginnings.items()}
    behind = {p: at for p, at in copied.items() if at < extent.ends[p]}
    stamps = source.administration.stamps(topic, behind) if behind else {}
    return [
        CopyLag(f"{topic}/{p}", at, extent.ends[p], stamps[p].at if p in stamps else None)
        for p, at in sorted(copied.items())
    ]


def newest_origins(reader: RecordReader, topic: str, extent: TopicExtent, header: str) -> dict[int, int]:
    """Return the source's offset after the newest copy, per partition; one that has no copy left is left out."""
    return {
        p: copies[-1].origin + 1
        for p, end in extent.ends.items()
        if (copies := _newest_copies(reader, topic, p, (extent.beginnings[p], end), header))
        and copies[-1].origin is not None
    }


def oldest_origin(reader: RecordReader, topic: str, partition: int, bounds: tuple[int, int], header: str) -> int | None:
    """Return where the oldest copy of a partition was in the source; None without a copy."""
    start, end = bounds
    records = reader.read(topic, {partition: start}, {partition: end})
    origins = (copied_record(record, header).origin for record in records)
    return next((origin for origin in origins if origin is not None), None)


def tail_of(
    reader: RecordReader, topic: str, partition: int, bounds: tuple[int, int], header: str
) -> list[CopiedRecord]:
    """Return the records of one partition of the target between two of its offsets."""
    start, end = bounds
    return [copied_record(record, header) for record in reader.read(topic, {partition: start}, {partition: end})]


def translated(
    reader: RecordReader,
    place: tuple[str, int],
    bounds: tuple[int, int],
    position: int,
    *,
    header: str,
    source_end: int | None = None,
) -> PartitionTranslation:
    """Return where a partition goes on in the target, by a tail that grows until it reaches back far enough.

    Args:
        reader: of the target.
        place: topic and partition.
        bounds: first offset and end there.
        position: the next offset in the source.
        header: that holds the source's offset.
        source_end: the source's end; None: it does not answer.
    """
    (topic, partition), (first, end), span = place, bounds, _FIRST_SPAN
    while True:
        start = max(first, end - span)
        tail = tail_of(reader, topic, partition, (start, end), header)
        if start == first or reaches_back(tail, position):
            return translate(tail, position, end=end, source_end=source_end)
        span *= 4


def _newest_copies(
    reader: RecordReader, topic: str, partition: int, bounds: tuple[int, int], header: str
) -> list[CopiedRecord]:
    """Return the copies in the shortest tail that has any: marks of transactions and other records lie between."""
    first, end = bounds
    span = _FIRST_SPAN // 8
    while first < end:
        start = max(first, end - span)
        if found := [c for c in tail_of(reader, topic, partition, (start, end), header) if c.origin is not None]:
            return found
        if start == first:
            break
        span *= 4
    return []


def _foreign(reader: RecordReader, topic: str, source: TopicExtent, target: TopicExtent, header: str) -> str:
    """Return why a topic of the target cannot take copies, as a clause; empty if it can."""
    if len(target.ends) < len(source.ends):
        return f"{topic} has {len(target.ends)} partitions in the target, and {len(source.ends)} in the source"
    for p, end in target.ends.items():
        if end == target.beginnings[p]:
            continue
        first = next(iter(reader.read(topic, {p: target.beginnings[p]}, {p: end})), None)
        if first is not None and copied_record(first, header).origin is None:
            return f"partition {p} of {topic} in the target begins with a record that it has not copied"
    return ""
