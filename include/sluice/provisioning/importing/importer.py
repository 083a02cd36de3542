"""From topics that no spec declares to specs whose plan is empty. Checks the cluster, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.errors import SluiceError
from sluice.provisioning.importing.proposal import Proposal, Rejection, propose
from sluice.provisioning.importing.sample import RecordSample
from sluice.provisioning.plans.declared import ActualCluster, Declared
from sluice.provisioning.plans.topic_plan import plan_topics
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.stamping import MAX_AHEAD, bounded
from sluice.specs.deployments.services import APACHE, KafkaService
from sluice.specs.load import scan
from sluice.specs.model.model import TopicSpec
from sluice.specs.reading.diagnosis import read_spec
from sluice.specs.reading.document import Document, parse_document
from sluice.specs.reading.faults import Fault
from sluice.specs.reading.kinds import Key, Kind
from sluice.topics.administration import KafkaAdministration, TopicExtent, TopicState
from sluice.topics.description import Usage
from sluice.topics.names import is_internal, near
from sluice.topics.records import RecordReader

MAX_RECORDS = 200
_MAX_PARTITIONS = 20


@dataclass(frozen=True)
class Importer:
    """Proposes specs for topics of a cluster.

    Attributes:
        include: the folder of the project's specs, which are sound.
        catalog: these specs, as they are in the deployment.
        deployment: its name.
        replication: replicas of a topic that does not say, in that deployment.
        administration: the cluster.
        reader: reads records.
        service: what the cluster is.
    """

    include: Path
    catalog: Catalog
    deployment: str
    replication: int
    administration: KafkaAdministration
    reader: RecordReader
    service: KafkaService = APACHE

    def undeclared(self) -> tuple[str, ...]:
        """Return the topics that no spec knows, without Kafka's own."""
        known = self.catalog.kafka_topics().keys() | self.catalog.absent.keys()
        return tuple(name for name in self.administration.names() if name not in known and not is_internal(name))

    def propose(self, topics: Iterable[str]) -> tuple[list[Proposal], list[Rejection]]:
        """Return a spec for each topic, or why there is none.

        With all of them the specs are sound, and plan nothing but a bound on the timestamps of producers.

        Raises:
            UnreachableError: no broker answered.
        """
        names = sorted(set(topics))
        existing = self.administration.names()
        rejected = [fault for name in names if (fault := self._not_ours(name, existing)) is not None]
        wanted = sorted(set(names) - {rejection.topic for rejection in rejected})
        states, extents = self.administration.describe(wanted), self.administration.extents(wanted)
        # Of a topic that moves the plan may be empty as long as it moves, and not afterwards.
        movable = wanted and self.service.placement is None
        moving = {topic for topic, _ in self.administration.moving()} if movable else set()
        proposed: list[Proposal] = []
        for name in wanted:
            if name in moving:
                fix = "let the moves end, and import it again."
                rejected.append(Rejection(name, "its replicas are being moved", fix))
                continue
            proposal = self._proposed(states.get(name), name, extents[name])
            if isinstance(proposal, Proposal):
                proposed.append(proposal)
            else:
                rejected.append(proposal)
        sound, unsound = self._sound(proposed)
        planless, differing = self._without_a_plan(sound)
        return planless, sorted([*rejected, *unsound, *differing], key=lambda each: each.topic)

    def _not_ours(self, topic: str, existing: Sequence[str]) -> Rejection | None:
        if is_internal(topic):
            why = "it belongs to Kafka or to another program, which changes it as it likes"
            return Rejection(topic, why, "leave it undeclared.")
        if topic not in existing:
            return Rejection(topic, "the cluster has no such topic", near(topic, existing))
        if file := Usage.of(self.catalog, topic).file:
            return Rejection(topic, f"{file} declares it already", "`sluice topics plan` shows what differs from it.")
        return None

    def _proposed(
        self, state: TopicState | None, topic: str, extent: TopicExtent | SluiceError
    ) -> Proposal | Rejection:
        if state is None or isinstance(extent, SluiceError):
            error = extent if isinstance(extent, SluiceError) else None
            why = error.message.removesuffix(".") if error else "it was deleted while it was checked"
            return Rejection(topic, why, (error.fix if error else "") or "import it again.")
        try:
            sample = read_sample(self.reader, topic, extent)
        except SluiceError as error:  # a topic that cannot be read does not stop the others
            return Rejection(topic, error.message.removesuffix("."), error.fix or "import it again.")
        return propose(state, sample, replication=self.replication, drivers=self.catalog.units().keys())

    def _sound(self, proposed: Sequence[Proposal]) -> tuple[list[Proposal], list[Rejection]]:
        """Separate those with which the specs stay sound from the others."""
        if not self._faults(proposed):
            return list(proposed), []
        sound: list[Proposal] = []
        unsound: list[Rejection] = []
        for candidate in proposed:
            if faults := self._faults([*sound, candidate]):
                why = "; ".join(f"{fault.where}: {fault.message}".removesuffix(".") for fault in faults)
                unsound.append(Rejection(candidate.topic, why, faults[0].fix or "write its spec by hand."))
            else:
                sound.append(candidate)
        return sound, unsound

    def _faults(self, proposed: Iterable[Proposal]) -> Sequence[Fault]:
        documents: dict[Key, Document] = {(Kind.TOPIC, each.topic): _document(each) for each in proposed}
        return scan(self.include, unwritten=documents).faults

    def _without_a_plan(self, proposed: Sequence[Proposal]) -> tuple[list[Proposal], list[Rejection]]:
        """Separate those that are as declared from those that a plan would change.

        How far producers' clocks may be ahead is left to the plan: a topic that was made elsewhere rarely says it.
        """
        shapes = (spec.in_deployment(self.deployment) for spec in map(_spec, proposed))
        specs = {spec.name: bounded(spec, ()) for spec in shapes}
        differing: dict[str, list[str]] = {}
        declared = Declared(specs, self.replication, service=self.service)
        plan = plan_topics(declared, ActualCluster.of(declared, self.administration))
        for each in plan.differences:
            if each.value != MAX_AHEAD:
                differing.setdefault(each.subject, []).append(str(each))
        fix = "settle it, and import again."
        rejected = [
            Rejection(topic, f"a plan would change it ({'; '.join(of)})", fix) for topic, of in differing.items()
        ]
        return [each for each in proposed if each.topic not in differing], rejected


def read_sample(reader: RecordReader, topic: str, extent: TopicExtent) -> RecordSample:
    """Read the oldest and the newest records of a topic, of some partitions if it has many.

    Raises:
        SluiceError: the topic could not be read.
    """
    sample = RecordSample()
    for start, end in sample_ranges(extent):
        for record in reader.read(topic, start, end):
            sample.add(record)
    return sample


def sample_ranges(extent: TopicExtent) -> Iterator[tuple[Mapping[int, int], Mapping[int, int]]]:
    """Yield the offsets to read, [start, end) per partition: the oldest, then the newest; none twice."""
    filled = [p for p, end in sorted(extent.ends.items()) if end > extent.beginnings[p]]
    chosen = filled[:: -(-len(filled) // _MAX_PARTITIONS) or 1]
    if not chosen:
        return
    each = max(1, MAX_RECORDS // 2 // len(chosen))
    oldest = {p: min(extent.ends[p], extent.beginnings[p] + each) for p in chosen}
    yield {p: extent.beginnings[p] for p in chosen}, oldest
    yield {p: max(oldest[p], extent.ends[p] - each) for p in chosen}, {p: extent.ends[p] for p in chosen}


def _document(proposal: Proposal) -> Document:
    return parse_document(proposal.text.encode(), f"include/topics/{proposal.topic}.yaml")


def _spec(proposal: Proposal) -> TopicSpec:
    spec = read_spec(TopicSpec, _document(proposal))
    if isinstance(spec, tuple):
        raise SluiceError(f"The spec of {proposal.topic} is not sound: {spec[0]}", fix="report this.")
    return spec
