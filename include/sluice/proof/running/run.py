"""A proof of a real pipeline, from its copy of the project to its verdict."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from sluice.clock import SystemClock
from sluice.errors import NotReadyError
from sluice.kafka.client.removal import OwnTopics
from sluice.kafka.producer import KafkaPythonProducer
from sluice.launch.processes import DRIVER_MARK, end_marked, wait_until
from sluice.project.project import Project
from sluice.proof.findings import ProofVerdict
from sluice.proof.journal import SendJournal
from sluice.proof.judgement import Proof, judge
from sluice.proof.observations import NO_BOUNDS, FiredFault, LatencyBounds, Observations, ReaderLook
from sluice.proof.report import id_of
from sluice.proof.running.comparison import compare
from sluice.proof.running.driver import ProofDriver
from sluice.proof.running.faults import RequestedFault, strike
from sluice.proof.running.generation import RecordGenerator
from sluice.proof.running.place import (
    PREFIX,
    ProofPlace,
    copy_project,
    intervals_of,
    leftovers,
    refuse_shared,
)
from sluice.proof.running.raw_reader import RawReader
from sluice.proof.running.sending import CLOSING, ProofSender
from sluice.proof.running.traffic import Traffic
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from sluice.specs.model.access import Role
from sluice.specs.model.model import PipelineSpec

_INTERVALS, _MOST_TIMES, _PRODUCERS = 6, 10, 2
_LOOKS = 25
"""How many looks are kept of the time that was asked for: each has the ids of all records."""
_FURTHER, _STEP = 16, timedelta(hours=6)
"""How many records close the intervals at least, and how far apart their times are at most, so that they count."""
_START_SECONDS, _HEAL_SECONDS, _DRAIN_SECONDS, _END_SECONDS = 240.0, 240.0, 180.0, 20.0
Tell = Callable[[str], None]


@dataclass(frozen=True)
class ProofRequest:
    """What is to be proven, and how.

    Attributes:
        rate: records per second.
        seconds: how long at least; faults make it longer.
        faults: in their order.
        bounds: of latencies; they are of the raw table.
        keep: whether the folder stays whatever the verdict.
    """

    rate: float
    seconds: float
    faults: tuple[RequestedFault, ...] = ()
    bounds: LatencyBounds = NO_BOUNDS
    keep: bool = False


@dataclass(frozen=True)
class ProvenRun:
    """A proof that has come to its end.

    Attributes:
        proof: the verdict.
        journal: what was sent.
        seen: what was observed.
        covered: the tables that it is about.
        uncovered: other outputs of the pipeline, which it says nothing about.
    """

    proof: Proof
    journal: SendJournal
    seen: Observations
    covered: tuple[str, ...]
    uncovered: tuple[str, ...]


def proofs_of(project: Project) -> Path:
    """Return the folder of all proofs."""
    return project.folder.proofs


def remove_leftovers(project: Project, tell: Tell) -> int:
    """Remove what proofs have left behind whose process was killed, and return how many those were."""
    found = leftovers(proofs_of(project))
    for place in found:
        tell(f"removing what the proof {place.root.name} of {place.pipeline} left behind: topic {place.topic}")
        _remove(project, place, keep=False)
    return len(found)


def prove(project: Project, spec: PipelineSpec, asked: ProofRequest, tell: Tell) -> tuple[ProofPlace, ProvenRun]:
    """Prove a pipeline in a copy of the project. On the way out, the driver and the topic are gone.

    Raises:
        SpecError: a proof can do nothing with such a pipeline or topic.
        RefusedError: it would touch what is the deployment's own.
        NotReadyError: the stack is not up, or the driver does not start.
        UnreachableError: Kafka does not answer.
    """
    table, ((_, source),) = intervals_of(spec), spec.topic_sources.items()
    generator = _generator(project, spec, asked)
    refuse_shared(project)
    chance = uuid.uuid4().hex[:8]
    name = id_of(spec.name, project.clock.now(), chance)
    place = ProofPlace(proofs_of(project) / name, f"{PREFIX}{chance}_{source.topic}"[:63], spec.name)
    place.record()
    keep = asked.keep
    try:
        copy_project(project, spec, place)
        run = _Run(place.open(project.settings), place, asked, generator, tell=tell).result()
        keep = asked.keep or run.proof.verdict is not ProofVerdict.PROVEN
    except NotReadyError:  # the message names the driver's log
        keep = True
        raise
    finally:
        _remove(project, place, keep=keep)
    others = tuple(f"{o.kind} {getattr(o, 'table', getattr(o, 'topic', ''))}".strip() for o in spec.outputs)
    return place, replace(run, uncovered=tuple(o for o in others if o != f"intervals {table.table}"))


def _generator(project: Project, spec: PipelineSpec, asked: ProofRequest) -> RecordGenerator:
    """Return what makes the records: six intervals in the time that was asked for, all of them in the past."""
    ((_, source),) = spec.topic_sources.items()
    length, rules = spec.intervals.interval_length, source.time
    step = max(timedelta(milliseconds=1), _INTERVALS * length / (asked.rate * asked.seconds))
    step -= timedelta(microseconds=step.microseconds % 1000)
    span = step * int(asked.rate * asked.seconds) * (_MOST_TIMES + 1)
    behind = rules.allowed_lateness + rules.arrival_disorder + 3 * length + timedelta(days=1)
    begin = (project.clock.now() - span - behind).replace(hour=0, minute=0, second=0, microsecond=0)
    return RecordGenerator(project.catalog.topics[source.topic], begin, step)


def _remove(project: Project, place: ProofPlace, *, keep: bool) -> None:
    """End the processes of a proof, remove its topic, and its copy unless that is kept."""
    for folder in place.state.drivers.glob("*"):
        end_marked(DRIVER_MARK, str(folder), SystemClock(), deadline_seconds=_END_SECONDS)
    with OwnTopics(project.kafka.bootstrap(), project.kafka.client()) as topics:
        topics.prefix = PREFIX
        topics.remove([place.topic])
    place.release(keep=keep)


class _Run:
    """The steps of one proof."""

    def __init__(
        self,
        project: Project,
        place: ProofPlace,
        asked: ProofRequest,
        generator: RecordGenerator,
        *,
        tell: Tell,
    ) -> None:
        self._project, self._place, self._asked, self._tell = project, place, asked, tell
        self._generator = generator
        self._spec = project.catalog.pipelines[place.pipeline]
        self._topic = project.catalog.topics[place.topic]
        self._driver = ProofDriver(project, project.catalog.unit(self._spec.driver))
        self._looks: list[ReaderLook] = []
        self._end = generator.happens(0)

    def result(self) -> ProvenRun:
        """Return what it has shown."""
        with self._sender() as sender:
            reader = RawReader(self._project.folder.table(self._topic.raw.table), sender.values, _now)
            try:
                faults = self._under_traffic(sender, reader)
                self._close_intervals(sender)
                self._drain(sender, reader)
            finally:
                self._driver.stop()
            journal = sender.journal()
        with self._project.kafka.administration() as administration:
            extent = administration.extent(self._place.topic)
        self._tell("comparing every interval with the batch")
        intervals = compare(self._project, self._spec.name, self._generator.happens(0), self._end)
        seen = Observations(
            outputs=(reader.all(),),
            intervals=intervals,
            interval_tables=frozenset({self._spec.intervals.table}),
            ends={partition: (extent.beginnings[partition], end) for partition, end in extent.ends.items()},
            looks=tuple(self._looks),
            faults=faults,
            bounds=self._asked.bounds,
        )
        covered = (self._topic.raw.table, self._spec.intervals.table)
        return ProvenRun(judge(journal, seen), journal, seen, covered, ())

    @contextmanager
    def _sender(self) -> Iterator[ProofSender]:
        """Create the topic and connect the producers."""
        kafka = self._project.kafka
        with kafka.administration() as administration:
            topics = {self._place.topic: self._project.catalog.kafka_topics()[self._place.topic]}
            apply(Declared(topics, replication=self._project.deployment.replication), administration)
        with ExitStack() as stack:
            producers = tuple(
                stack.enter_context(KafkaPythonProducer(kafka.bootstrap(), self._place.topic, kafka.client(Role.FEED)))
                for _ in range(_PRODUCERS)
            )
            yield stack.enter_context(ProofSender(producers, self._place.journal, _now))

    def _under_traffic(self, sender: ProofSender, reader: RawReader) -> tuple[FiredFault, ...]:
        """Send for as long as was asked, let the faults strike meanwhile, and return them."""
        most = int(self._asked.rate * self._asked.seconds * _MOST_TIMES)
        traffic = Traffic(sender, lambda number: self._generator.value(number + 1), self._asked.rate, most)
        self._tell("waiting until the first record is in the raw table")
        sender.send(self._generator.value(0))
        self._driver.start()
        self._wait(lambda: bool(self._look(reader).ids), _START_SECONDS)
        reader.ignore_times()
        self._tell(f"sending {self._asked.rate:g} records per second")
        traffic.start()
        try:
            faults = tuple(self._struck(fault, sender, reader, traffic) for fault in self._asked.faults)
            self._wait(lambda: bool(self._look(reader)) and traffic.seconds >= self._asked.seconds, 3600, traffic)
        finally:
            traffic.stop()
        sender.collect(wait=True)
        self._end = self._whole_intervals(sender.sent)
        return faults

    def _struck(self, fault: RequestedFault, sender: ProofSender, reader: RawReader, traffic: Traffic) -> FiredFault:
        self._tell(f"fault: {fault}")
        struck = strike(fault, self._driver)
        self._tell(f"  {struck.evidence or 'nothing shows that it struck'}")
        since = sender.sent  # all that is sent from now on came after it

        def is_healed() -> bool:
            newer = frozenset(list(sender.values.values())[since:])
            return bool(self._look(reader).ids & newer)

        return replace(struck, healed=self._wait(is_healed, _HEAL_SECONDS, traffic, may_die=True))

    def _close_intervals(self, sender: ProofSender) -> None:
        """Move the times of the topic beyond the last interval, step by step: by heartbeats, or by further records."""
        ((_, source),) = self._spec.topic_sources.items()
        rules, length, made = source.time, self._spec.intervals.interval_length, self._generator
        begin, last = made.happens(0), sender.sent - 1
        end = self._end + rules.allowed_lateness + rules.arrival_disorder + 2 * length
        far = max(1, (end - made.happens(last)) // made.step)
        steps = max(_FURTHER, (end - self._end) // _STEP)
        for number in sorted({last + max(1, far * n // steps) for n in range(1, steps + 1)}):
            heartbeat = made.heartbeat(begin + number * made.step)
            if heartbeat is None:
                sender.send(made.value(number))
            else:
                sender.send(heartbeat, CLOSING, partition=0)
        sender.collect(wait=True)

    def _drain(self, sender: ProofSender, reader: RawReader) -> None:
        """Wait until the raw table has all that was acknowledged, and the intervals are settled; or give up."""
        self._tell(f"{sender.sent:,} records sent; waiting for the tables")
        due = {sent.id for sent in sender.journal().acknowledged}
        self._wait(lambda: due <= self._look(reader).ids, _DRAIN_SECONDS)
        self._wait(self._is_settled, _DRAIN_SECONDS)

    def _is_settled(self) -> bool:
        try:
            closed = self._project.tables.ledger(self._spec.name).closed_until
        except NotReadyError:  # there is no table yet
            return False
        return closed is not None and closed >= self._end

    def _whole_intervals(self, sent: int) -> datetime:
        """Return the end of the last interval that the records fill."""
        length, begin = self._spec.intervals.interval_length, self._generator.happens(0)
        return begin + (self._generator.happens(sent) - begin) // length * length

    def _look(self, reader: RawReader) -> ReaderLook:
        look = reader.look()
        if not self._looks or look.at - self._looks[-1].at >= self._asked.seconds / _LOOKS:
            self._looks.append(look)
        return look

    def _wait(
        self, condition: Callable[[], bool], seconds: float, traffic: Traffic | None = None, *, may_die: bool = False
    ) -> bool:
        def holds() -> bool:
            if traffic is not None:
                traffic.refuse_failed()
            if condition():
                return True
            if not may_die:
                self._driver.refuse_dead()
            self._project.clock.sleep(0.5)
            return False

        return wait_until(holds, self._project.clock, deadline_seconds=seconds)


def _now() -> float:
    return SystemClock().now().timestamp()
