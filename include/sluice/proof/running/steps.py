"""The steps of one proof, from its first record to what all outputs hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from sluice.errors import NotReadyError, RefusedError
from sluice.project.project import Project
from sluice.proof.generation.made import MadeRecord, RecordFate
from sluice.proof.journal import SendJournal
from sluice.proof.judgement import judge
from sluice.proof.observations import ComparedInterval, FiredFault, Observations, ObservedRecords
from sluice.proof.rows import IDLE
from sluice.proof.running.alerts import MeanwhileAlerts
from sluice.proof.running.comparison import compare
from sluice.proof.running.connecting import connected_sender, seconds_now
from sluice.proof.running.driver import DriverEndedError, DriverWait, ProofDriver
from sluice.proof.running.faults import RequestedFault, strike
from sluice.proof.running.load import MOST_TIMES, ProofLoad, refused
from sluice.proof.running.outputs import SideOutputs
from sluice.proof.running.place import PREFIX, ProofPlace
from sluice.proof.running.raw_reader import RawReader
from sluice.proof.running.readers import RawReaders
from sluice.proof.running.request import ProofRequest, ProvenRun, Tell
from sluice.proof.running.sending import CLOSING, ProofSender
from sluice.proof.running.traffic import Traffic
from sluice.topics.administration import TopicExtent

_LOOKS = 25
"""How many looks are kept of the time that was asked for: each has the ids of all records."""
_FURTHER, _STEP = 16, timedelta(hours=6)
"""How many records close the intervals at least, and how far apart their times are at most, so that they count."""
_START_SECONDS, _HEAL_SECONDS, _SEND_SECONDS = 240.0, 240.0, 3600.0


class ProofSteps:
    """Leads one proof from step to step.

    Args:
        project: the copy.
        place: of the proof.
        asked: what is to be proven.
        load: what is sent, by the names of the proof's topics.
        alerts: of the deployment.
        tell: is told of each step.
    """

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
        self._wait = DriverWait(self._driver, project.clock)
        self._sides = SideOutputs(project, place, may_lose=bool(asked.faults))
        self._end = load.happens(0)
        self._faults: list[FiredFault] = []
        self._is_over = True

    def result(self) -> ProvenRun:
        """Return what it has shown."""
        with connected_sender(self._project, self._place) as sender:
            readers = self._readers(sender)
            try:
                self._start(sender, readers)
                ended = self._run(sender, readers)
            finally:
                self._driver.stop()
            journal = sender.journal()
            values = sender.values
        seen = Observations(
            outputs=tuple(self._as_read(each, ended) for each in readers.all()),
            ends={
                topic: {partition: (extent.beginnings[partition], end) for partition, end in extent.ends.items()}
                for topic, extent in self._extents().items()
            },
            looks=readers.looks,
            faults=(*self._faults, *self._unstruck()),
            alerts=self._alerts.about_the_proof(),
            bounds=self._asked.bounds,
            ended=ended,
        )
        if ended:
            uncovered = tuple(f"{name}: its driver has ended" for name in (*self._interval_tables, *self._sides.names))
            return ProvenRun(judge(journal, seen), journal, seen, (*self._tables.values(),), uncovered)
        return self._compared_with(seen, journal, values)

    def _as_read(self, output: ObservedRecords, ended: str) -> ObservedRecords:
        """Return an output as one that has all that comes, unless more would have come."""
        return replace(output, is_complete=self._is_over and not ended)

    def _unstruck(self) -> Iterator[FiredFault]:
        """Yield the faults whose turn did not come."""
        at = self._project.clock.now().timestamp()
        for fault in self._asked.faults[len(self._faults) :]:
            yield FiredFault(fault.value, at, "", healed=None)

    def _compared_with(
        self, seen: Observations, journal: SendJournal, values: Mapping[str, Mapping[bytes, str]]
    ) -> ProvenRun:
        """Return what the proof has shown, after batches have computed what is due."""
        intervals = self._compared()
        self._tell("comparing every other output with what its records give")
        answer = self._sides.answer(self._tell)
        judged = () if answer.judged is None else answer.judged
        letters = tuple(self._as_read(each, "") for each in self._sides.dead_letters(values, refused(journal, judged)))
        idle = {rows.name for rows in answer.outputs if rows.is_idle and rows.is_complete}
        if not self._interval_tables and len(idle) == len(answer.outputs):
            idle = set()  # then nothing but raw records would be covered, which the checker says
        rows = tuple(replace(rows, is_complete=rows.is_complete and self._is_over) for rows in answer.outputs)
        seen = replace(
            seen,
            outputs=(*seen.outputs, *letters),
            rows=tuple(each for each in rows if each.name not in idle),
            judged=answer.judged,
            intervals=intervals,
            interval_tables=frozenset(self._interval_tables),
        )
        others = (*(rows.name for rows in seen.rows), *(output.name for output in letters))
        reasons = {**answer.uncovered, **dict.fromkeys(sorted(idle), IDLE)}
        return ProvenRun(
            judge(journal, seen),
            journal,
            seen,
            covered=(*self._tables.values(), *self._interval_tables, *others),
            uncovered=tuple(f"{name}: {why}" for name, why in reasons.items()),
        )

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
            self._wait_to_the_end(lambda: bool(readers.look()) and self._sides.have_read(ends), self._sides.positions)
            self._sides.look_at_open(ends)

    def _start(self, sender: ProofSender, readers: RawReaders) -> None:
        """Send the first records, and start the driver.

        Raises:
            NotReadyError: it ends, or does not read them.
        """
        self._tell("waiting until the first record of each topic is in the raw table")
        for topic, made in self._load.first():
            sender.send(topic, made)
        sender.collect(wait=True)
        self._refuse_unheard(sender)
        self._driver.start()
        if not self._wait.until(readers.have_any_of_each, _START_SECONDS):
            raise NotReadyError(
                f"{_START_SECONDS:.0f} s after its start the driver has not read the first record of each topic.",
                fix=f"read {self._driver.log()}.",
            )
        readers.ignore_times()

    def _run(self, sender: ProofSender, readers: RawReaders) -> str:
        """Send, let the faults strike, and wait for the tables; return how the driver has ended, if it did."""
        try:
            self._under_traffic(sender, readers)
            self._look_at_open(readers)
            self._close_intervals(sender)
            self._drain(sender, readers)
        except DriverEndedError as error:
            self._tell(f"  {error}")
            sender.collect(wait=True)
            return str(error)
        return ""

    def _under_traffic(self, sender: ProofSender, readers: RawReaders) -> None:
        """Send for as long as was asked, and let the faults strike meanwhile."""
        most = int(self._asked.rate * self._asked.seconds * MOST_TIMES)
        traffic = Traffic(sender, self._load.further, self._asked.rate, most)
        self._tell(f"sending {self._asked.rate:g} records per second")
        traffic.start()
        try:
            for fault in self._asked.faults:
                self._strike(fault, sender, readers, traffic)
            is_over = partial(_has_sent, traffic, readers, self._asked.seconds)
            self._wait.until(is_over, _SEND_SECONDS, traffic)
        finally:
            traffic.stop()
        sender.collect(wait=True)
        if self._closes:
            self._end = self._whole_intervals(min(map(sender.sent_to, self._tables)))

    def _refuse_unheard(self, sender: ProofSender) -> None:
        journal = sender.journal()
        unheard = [topic for topic in self._tables if not journal.of(topic).acknowledged]
        if unheard:
            raise RefusedError(
                f"Kafka does not take the first record of a proof in {', '.join(unheard)}.",
                fix=f"give the planner's principal the right to write to {PREFIX}…, and see whether the brokers run.",
            )

    def _strike(self, fault: RequestedFault, sender: ProofSender, readers: RawReaders, traffic: Traffic) -> None:
        """Let a fault strike, and wait until a record that was sent after it is there."""
        self._tell(f"fault: {fault}")
        struck = strike(fault, self._driver)
        self._tell(f"  {struck.evidence or 'nothing shows that it struck'}")
        self._faults.append(struck)
        since = sender.sent

        def is_known() -> bool:
            return traffic.is_over and sender.sent == since

        def is_healed() -> bool:
            return readers.have_any_of_each(frozenset(sender.ids[since:]))

        known = self._wait.until(lambda: is_healed() or is_known(), _HEAL_SECONDS, traffic)
        self._faults[-1] = replace(struck, healed=None if is_known() else known)

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
        self._wait_to_the_end(lambda: readers.have_all(due), lambda: readers.seen)
        if self._closes:
            self._wait_to_the_end(self._is_settled, self._settled_until)
        ends = self._ends()
        self._wait_to_the_end(lambda: self._sides.have_read(ends), self._sides.positions)

    def _wait_to_the_end(self, condition: Callable[[], bool], progress: Callable[[], object]) -> None:
        self._is_over &= self._wait.to_the_end(condition, progress, self._asked.patience_seconds)

    def _is_settled(self) -> bool:
        closed = self._settled_until()
        return closed is not None and closed >= self._end

    def _settled_until(self) -> datetime | None:
        try:
            return self._project.tables.ledger(self._spec.name).closed_until
        except NotReadyError:  # there is no table yet
            return None

    def _whole_intervals(self, sent: int) -> datetime:
        """Return the end of the last interval that the records fill."""
        length, begin = self._spec.intervals.interval_length, self._load.happens(0)
        return begin + (self._load.happens(sent) - begin) // length * length


def _has_sent(traffic: Traffic, readers: RawReaders, seconds: float) -> bool:
    """Whether it was sent for so long; the readers look meanwhile."""
    readers.look()
    return traffic.seconds >= seconds
