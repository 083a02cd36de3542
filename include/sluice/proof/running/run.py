"""A proof of a real pipeline, from its copy of the project to its verdict."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from errno import ENOSPC
from pathlib import Path

from sluice.clock import SystemClock
from sluice.errors import NotReadyError, RefusedError, SluiceError
from sluice.kafka.client.removal import OwnTopics
from sluice.launch.processes import DRIVER_MARK, end_marked, wait_until
from sluice.project.project import Project
from sluice.proof.eligibility import covered_outputs, refuse_ineligible
from sluice.proof.findings import ProofVerdict
from sluice.proof.generation.made import MadeRecord, RecordFate
from sluice.proof.journal import SendJournal
from sluice.proof.judgement import Proof, judge
from sluice.proof.observations import (
    NO_BOUNDS,
    ComparedInterval,
    FiredFault,
    LatencyBounds,
    Observations,
)
from sluice.proof.report import id_of
from sluice.proof.running.alerts import MeanwhileAlerts
from sluice.proof.running.comparison import compare
from sluice.proof.running.connecting import connected_sender, seconds_now
from sluice.proof.running.copying import copy_project
from sluice.proof.running.driver import ProofDriver
from sluice.proof.running.faults import RequestedFault, refuse_shared_faults, strike
from sluice.proof.running.load import MOST_TIMES, ProofLoad, load_of, refused
from sluice.proof.running.outputs import SideOutputs
from sluice.proof.running.place import (
    PREFIX,
    ProofPlace,
    leftovers,
    refuse_no_room,
    refuse_shared,
)
from sluice.proof.running.raw_reader import RawReader
from sluice.proof.running.readers import RawReaders
from sluice.proof.running.sending import CLOSING, ProofSender
from sluice.proof.running.traffic import Traffic
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import Output, SinkOutput, WrittenTopic
from sluice.topics.administration import TopicExtent

_LOOKS = 25
"""How many looks are kept of the time that was asked for: each has the ids of all records."""
_FURTHER, _STEP = 16, timedelta(hours=6)
"""How many records close the intervals at least, and how far apart their times are at most, so that they count."""
_LONGEST_NAME = 63
_START_SECONDS, _HEAL_SECONDS, _END_SECONDS = 240.0, 240.0, 20.0
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
        patience_seconds: how long the tables are waited for at the end.
    """

    rate: float
    seconds: float
    faults: tuple[RequestedFault, ...] = ()
    bounds: LatencyBounds = NO_BOUNDS
    keep: bool = False
    patience_seconds: float = 180.0


@dataclass(frozen=True)
class ProvenRun:
    """A proof that has come to its end.

    Attributes:
        proof: the verdict.
        journal: what was sent.
        seen: what was observed.
        covered: the tables that it is about.
        uncovered: other outputs of the pipeline, which it says nothing about.
        beside: alerts of the deployment that came meanwhile and are about something else.
    """

    proof: Proof
    journal: SendJournal
    seen: Observations
    covered: tuple[str, ...]
    uncovered: tuple[str, ...]
    beside: tuple[str, ...] = ()


def proofs_of(project: Project) -> Path:
    """Return the folder of all proofs."""
    return project.folder.proofs


def remove_leftovers(project: Project, tell: Tell) -> int:
    """Remove what proofs have left behind whose process was killed, and return how many those were."""
    found = leftovers(proofs_of(project))
    for place in found:
        topics = ", ".join(place.read.values())
        tell(f"removing what the proof {place.root.name} of {place.pipeline} left behind: topic {topics}")
        try:
            _remove(project, place, keep=False)
        except SluiceError as error:  # it stays on record, and the next proof tries again
            tell(f"  it stays for now: {error}")
    return len(found)


def prove(project: Project, spec: PipelineSpec, asked: ProofRequest, tell: Tell) -> tuple[ProofPlace, ProvenRun]:
    """Prove a pipeline in a copy of the project. On the way out, the driver and the topic are gone.

    Raises:
        SpecError: a proof can do nothing with such a pipeline or topic.
        RefusedError: it would touch what is the deployment's own.
        NotReadyError: the stack is not up, or the driver does not start.
        UnreachableError: Kafka does not answer.
    """
    refuse_ineligible(spec, project.catalog.topics)
    covered = covered_outputs(spec)
    load = load_of(project, spec, rate=asked.rate, seconds=asked.seconds)
    refuse_shared(project)
    refuse_shared_faults(project.deployment.kafka, asked.faults)
    refuse_no_room(proofs_of(project), asked.rate * asked.seconds * MOST_TIMES)
    chance = uuid.uuid4().hex[:8]
    name = id_of(spec.name, project.clock.now(), chance)
    own = own_names(chance, (*spec.topics, *(each.topic for each in spec.written_topics)))
    filled = {each.topic: own[each.topic] for each in spec.written_topics}
    place = ProofPlace(proofs_of(project) / name, {topic: own[topic] for topic in spec.topics}, spec.name, filled)
    place.record()
    keep = asked.keep
    try:
        copy_project(project, spec, place)
        alerts = MeanwhileAlerts(project, place)
        run = _Run(place.open(project.settings), place, asked, load.named(place.read), alerts, tell=tell).result()
        keep = asked.keep or run.proof.verdict is not ProofVerdict.PROVEN
    except NotReadyError:  # the message names the driver's log
        keep = True
        raise
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        raise NotReadyError(f"the disk of {place.root} is full.", fix="free some space, then prove again.") from error
    finally:
        _remove(project, place, keep=keep)
    others = tuple(f"{each.kind} {_name(each)}" for each in spec.every_output if each not in covered)
    return place, replace(run, uncovered=(*run.uncovered, *others), beside=alerts.about_others())


def own_names(proof: str, topics: Iterable[str]) -> dict[str, str]:
    """Return the names that topics have in a proof: no two alike, however long theirs are."""
    names = {topic: f"{PREFIX}{proof}_{topic}"[:_LONGEST_NAME] for topic in topics}
    twice = Counter(names.values())
    return {
        topic: f"{PREFIX}{proof}_{number}_{topic}"[:_LONGEST_NAME] if twice[name] > 1 else name
        for number, (topic, name) in enumerate(names.items())
    }


def _name(output: Output) -> str:
    match output:
        case WrittenTopic(topic=name) | SinkOutput(name=name):
            return name
        case _:
            return output.table


def _remove(project: Project, place: ProofPlace, *, keep: bool) -> None:
    """End the processes of a proof, remove its topics, and its copy unless that is kept."""
    for folder in place.state.drivers.glob("*"):
        end_marked(DRIVER_MARK, str(folder), SystemClock(), deadline_seconds=_END_SECONDS)
    with OwnTopics(project.kafka.bootstrap(), project.kafka.client()) as topics:
        topics.prefix = PREFIX
        topics.remove(place.topics)
    place.release(keep=keep)


class _Run:
    """The steps of one proof."""

    def __init__(
        self,
        project: Project,
        place: ProofPlace,
        asked: ProofRequest,
        load: ProofLoad,
        alerts: MeanwhileAlerts,
        *,
        tell: Tell,
    ) -> None:
        self._project, self._place, self._asked, self._tell = project, place, asked, tell
        self._load, self._alerts = load, alerts
        self._spec = project.catalog.pipelines[place.pipeline]
        self._tables = {topic: project.catalog.topics[topic].raw.table for topic in place.read.values()}
        self._driver = ProofDriver(project, project.catalog.unit(self._spec.driver))
        self._sides = SideOutputs(project, place, may_lose=bool(asked.faults))
        self._end = load.happens(0)

    def result(self) -> ProvenRun:
        """Return what it has shown."""
        with connected_sender(self._project, self._place) as sender:
            readers = self._readers(sender)
            try:
                faults = self._under_traffic(sender, readers)
                self._look_at_open(readers)
                self._close_intervals(sender)
                self._drain(sender, readers)
            finally:
                self._driver.stop()
            journal = sender.journal()
        extents = self._extents()
        intervals = self._compared()
        self._tell("comparing every other output with what its records give")
        answer = self._sides.answer()
        letters = self._sides.dead_letters(sender.values, refused(journal, answer.judged))
        seen = Observations(
            outputs=(*readers.all(), *letters),
            rows=answer.outputs,
            judged=answer.judged,
            intervals=intervals,
            interval_tables=frozenset(self._interval_tables),
            ends={
                topic: {partition: (extent.beginnings[partition], end) for partition, end in extent.ends.items()}
                for topic, extent in extents.items()
            },
            looks=readers.looks,
            faults=faults,
            alerts=self._alerts.about_the_proof(),
            bounds=self._asked.bounds,
        )
        others = (*(rows.name for rows in answer.outputs), *(output.name for output in letters))
        covered = (*self._tables.values(), *self._interval_tables, *others)
        uncovered = tuple(f"{name}: {why}" for name, why in answer.uncovered.items())
        return ProvenRun(judge(journal, seen), journal, seen, covered, uncovered)

    def _readers(self, sender: ProofSender) -> RawReaders:
        folder = self._project.folder.table
        readers = {
            topic: RawReader(folder(table), topic, sender.values[topic], sender.positions[topic], seconds_now)
            for topic, table in self._tables.items()
        }
        return RawReaders(readers, self._asked.seconds / _LOOKS)

    @property
    def _interval_tables(self) -> tuple[str, ...]:
        return (self._spec.intervals.table,) if self._spec.has_intervals else ()

    @property
    def _closes(self) -> bool:
        """Whether intervals close in time."""
        return self._spec.has_intervals and not self._load.is_live

    def _compared(self) -> tuple[ComparedInterval, ...]:
        if not self._spec.has_intervals:
            return ()
        if self._load.is_live:
            why = "a broker says when records come, so an interval takes as long as it is"
            return (ComparedInterval(self._spec.intervals.table, "all", None, why),)
        self._tell("comparing every interval with the batch")
        return compare(self._project, self._spec.name, self._load.happens(0), self._end)

    def _extents(self) -> dict[str, TopicExtent]:
        with self._project.kafka.administration() as administration:
            return {topic: administration.extent(topic) for topic in self._place.read.values()}

    def _ends(self) -> dict[str, dict[int, int]]:
        return {topic: dict(extent.ends) for topic, extent in self._extents().items()}

    def _look_at_open(self, readers: RawReaders) -> None:
        """Look at tables of open rows before the end closes their intervals."""
        if self._sides.open_tables:
            ends = self._ends()
            self._wait(lambda: bool(readers.look()) and self._sides.have_read(ends), self._asked.patience_seconds)
            self._sides.look_at_open(ends)

    def _under_traffic(self, sender: ProofSender, readers: RawReaders) -> tuple[FiredFault, ...]:
        """Send for as long as was asked, let the faults strike meanwhile, and return them."""
        most = int(self._asked.rate * self._asked.seconds * MOST_TIMES)
        traffic = Traffic(sender, self._load.further, self._asked.rate, most)
        self._tell("waiting until the first record of each topic is in the raw table")
        for topic, made in self._load.first():
            sender.send(topic, made)
        sender.collect(wait=True)
        self._refuse_unheard(sender)
        self._driver.start()
        self._wait(readers.have_any_of_each, _START_SECONDS)
        readers.ignore_times()
        self._tell(f"sending {self._asked.rate:g} records per second")
        traffic.start()
        try:
            faults = tuple(self._struck(fault, sender, readers, traffic) for fault in self._asked.faults)
            self._wait(lambda: bool(readers.look()) and traffic.seconds >= self._asked.seconds, 3600, traffic)
        finally:
            traffic.stop()
        sender.collect(wait=True)
        if self._closes:
            self._end = self._whole_intervals(min(map(sender.sent_to, self._tables)))
        return faults

    def _refuse_unheard(self, sender: ProofSender) -> None:
        journal = sender.journal()
        unheard = [topic for topic in self._tables if not journal.of(topic).acknowledged]
        if unheard:
            raise RefusedError(
                f"Kafka does not take the first record of a proof in {', '.join(unheard)}.",
                fix=f"give the planner's principal the right to write to {PREFIX}…, and see whether the brokers run.",
            )

    def _struck(self, fault: RequestedFault, sender: ProofSender, readers: RawReaders, traffic: Traffic) -> FiredFault:
        self._tell(f"fault: {fault}")
        struck = strike(fault, self._driver)
        self._tell(f"  {struck.evidence or 'nothing shows that it struck'}")
        since = sender.sent  # all that is sent from now on came after it

        def is_healed() -> bool:
            return readers.have_any_of_each(frozenset(sender.ids[since:]))

        return replace(struck, healed=self._wait(is_healed, _HEAL_SECONDS, traffic, may_die=True))

    def _close_intervals(self, sender: ProofSender) -> None:
        """Move the times of all topics beyond the last interval, step by step: by heartbeats, or by further records."""
        if not self._closes:
            return
        spec, load = self._spec, self._load
        rules, length = [spec.time_of(topic) for topic in self._tables], spec.intervals.interval_length
        begin, last = load.happens(0), max(map(sender.sent_to, self._tables)) - 1
        behind = max(each.allowed_lateness + each.arrival_disorder for each in rules)
        end = self._end + behind + spec.intervals.lookahead + 2 * length
        far = max(1, (end - load.happens(last)) // load.step)
        steps = max(_FURTHER, (end - self._end) // _STEP)
        for number in sorted({last + max(1, far * n // steps) for n in range(1, steps + 1)}):
            for topic, generator in load.generators.items():
                heartbeat = generator.heartbeat(begin + number * load.step)
                if heartbeat is None:
                    sender.send(topic, MadeRecord(generator.value(number)))
                else:
                    sender.send(topic, MadeRecord(heartbeat, RecordFate.CONTROL), CLOSING, partition=0)
        sender.collect(wait=True)

    def _drain(self, sender: ProofSender, readers: RawReaders) -> None:
        """Wait until the raw tables have all that was acknowledged, and the intervals are settled; or give up."""
        self._tell(f"{sender.sent:,} records sent; waiting for the tables")
        due = frozenset(sent.id for sent in sender.journal().acknowledged)
        self._wait(lambda: readers.have_all(due), self._asked.patience_seconds)
        if self._closes:
            self._wait(self._is_settled, self._asked.patience_seconds)
        ends = self._ends()
        self._wait(lambda: self._sides.have_read(ends), self._asked.patience_seconds)

    def _is_settled(self) -> bool:
        try:
            closed = self._project.tables.ledger(self._spec.name).closed_until
        except NotReadyError:  # there is no table yet
            return False
        return closed is not None and closed >= self._end

    def _whole_intervals(self, sent: int) -> datetime:
        """Return the end of the last interval that the records fill."""
        length, begin = self._spec.intervals.interval_length, self._load.happens(0)
        return begin + (self._load.happens(sent) - begin) // length * length

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
