"""Sending a range of a feed to its topic: resumable, and nothing twice.

The order of steps makes it so: the manifest says `sending` before the first record leaves; a record is counted only
when it is acknowledged; and a run starts by reading from the topic what a run before it did not live to count. There is
no clean-up on the way out, so an interrupt, a crash and `kill -9` are one case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime

from sluice.clock import Clock
from sluice.errors import RefusedError, SpecError
from sluice.feeds.heartbeat import heartbeat_times, heartbeat_value, written_from
from sluice.feeds.in_flight import InFlight
from sluice.feeds.manifest import Manifest, ManifestStore, SentRange
from sluice.feeds.order import late_records
from sluice.feeds.pace import Pace
from sluice.feeds.ports import Acknowledgement, Producer, TopicReader
from sluice.feeds.record import FeedRecord, FeedSource, encode
from sluice.feeds.recovery import recover
from sluice.quality.arrivals import sent_too_late
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.topics.records import RecordPosition, RecordTooLargeError

_SAVE_SECONDS = 1.0
_REPORT_SECONDS = 0.5
_NAP_SECONDS = 0.2  # while a record is not due yet, acknowledgements are still counted this often


@dataclass(frozen=True)
class SendProgress:
    """How far a run is.

    Attributes:
        sent: records acknowledged in this run.
        total: records that this run has to send.
        rate: records per second since the run began to send.
    """

    sent: int
    total: int
    rate: float

    @property
    def seconds_left(self) -> float | None:
        """Return the time to go at this rate; None while there is none."""
        return (self.total - self.sent) / self.rate if self.rate else None


@dataclass(frozen=True)
class Sending:
    """What a run did.

    Attributes:
        sent: records that it sent, without the heartbeat.
        recovered: records in the topic that a run before it had sent and not counted.
        heartbeat: the instant of the last heartbeat that it sent (UTC), or None.
        manifest: what the topic has now.
    """

    sent: int
    recovered: int
    heartbeat: datetime | None
    manifest: Manifest


@dataclass(frozen=True)
class Feed:
    """One feed and its topic; `pipelines` are those that read the topic."""

    spec: FeedSpec
    topic: TopicSpec
    pipelines: Sequence[PipelineSpec]
    _: KW_ONLY
    source: FeedSource
    producer: Producer
    reader: TopicReader
    store: ManifestStore
    clock: Clock

    def too_late(self, first: date | None = None, last: date | None = None) -> str:
        """Return what to do if every record of a range will be late because it arrives now; empty if not so."""
        days = self.source.days()
        if not days:
            return ""
        newest = self.source.last_event(first or min(days), last or max(days))
        return sent_too_late(self.topic, self.pipelines, newest, self.clock.now())

    def send(
        self,
        first: date | None = None,
        last: date | None = None,
        *,
        pace: Pace = Pace(),  # noqa: B008  frozen
        heartbeat: bool = True,
        out_of_order: bool = False,
        report: Callable[[SendProgress], None] = lambda _: None,
    ) -> Sending:
        """Send what the topic does not have of a range.

        Args:
            first: first local day; omitted: the source's first.
            last: last local day, inclusive; omitted: the source's last.
            pace: bounds of the rate.
            heartbeat: at the end, send what closes the last interval.
            out_of_order: send also what comes too late for pipelines because a later range was sent before.
            report: called about twice a second, and at the end.

        Raises:
            SpecError: the source has nothing in this range.
            RefusedError: the range comes too late, another process sends, the topic is missing or was trimmed, the
                source has other records of a day than were sent, or a record is larger than the topic takes.
            UnreachableError: Kafka did not answer; running the command again resumes.
        """
        first, last = self._range(first, last)
        return self._send(first, last, pace, report, heartbeat=heartbeat, out_of_order=out_of_order)

    def _send(
        self,
        first: date,
        last: date,
        pace: Pace,
        report: Callable[[SendProgress], None],
        *,
        heartbeat: bool,
        out_of_order: bool,
    ) -> Sending:
        with self.store.alone():
            manifest = self._manifest()
            recovered = recover(manifest, self.source, self.topic.value, self.reader, self.clock)
            self._refuse_other_source(manifest)
            if not out_of_order:
                self._refuse_overtaken(manifest, first, last)
            total = manifest.missing(first, last, self.source.days())
            closing = self._heartbeats(manifest, first, last) if heartbeat else ()
            if total or closing:
                entry = manifest.begin(first, last, manifest.known_offsets, self.clock.now())
                manifest.sending = True
                self.store.save(manifest)
                self._run(manifest, entry, total, pace, report).send(self._todo(manifest, first, last))
                for moment in closing:
                    self._send_heartbeat(manifest, entry, moment)
            self._finish(manifest)
            return Sending(total, recovered, closing[-1] if closing else None, manifest)

    def _range(self, first: date | None, last: date | None) -> tuple[date, date]:
        days = list(self.source.days())
        first, last = first or days[0], last or days[-1]
        if first > last:
            raise SpecError(f"The range {first} to {last} ends before it begins.", fix="swap --from and --to.")
        if not any(first <= day <= last for day in days):
            raise SpecError(
                f"The feed {self.spec.name} has no record from {first} to {last}.",
                fix=f"choose days from {days[0]} to {days[-1]}.",
            )
        return first, last

    def _manifest(self) -> Manifest:
        topic_id = self.reader.extent().topic_id
        known = self.store.load()
        if known is not None and known.topic_id != topic_id:
            self.store.retire(known)
            known = None
        return known or Manifest(feed=self.spec.name, topic=self.topic.name, topic_id=topic_id)

    def _todo(self, manifest: Manifest, first: date, last: date) -> Iterator[FeedRecord]:
        open_days = [day for day in self.source.days() if first <= day <= last and day not in manifest.complete]
        if not open_days:
            return iter(())
        records = self.source.records(open_days[0], open_days[-1])
        return (record for record in records if not manifest.has(record))

    def _refuse_other_source(self, manifest: Manifest) -> None:
        """A day whose every record was sent has as many in the source as then: what was added would never be sent."""
        sizes, sent = self.source.days(), manifest.days()
        other = sorted(day for day in manifest.complete if sizes.get(day, 0) != sent[day])
        if other:
            raise RefusedError(
                f"The source of the feed {self.spec.name} is another one: of {other[0]} it has "
                f"{sizes.get(other[0], 0):,} records, and {sent[other[0]]:,} were sent as all of them.",
                fix="put back what was sent, and send what is new as a feed of its own.",
            )

    def _refuse_overtaken(self, manifest: Manifest, first: date, last: date) -> None:
        if manifest.latest_event is None:
            return
        rules = {pipeline.name: pipeline.time_of(self.topic.name) for pipeline in self.pipelines}
        behind = list(late_records(self._todo(manifest, first, last), manifest.latest_event, rules))
        if behind:
            record, pipeline = behind[0]
            raise RefusedError(
                f"{len(behind)} records from {first} to {last} come too late, such as {record.identity} of "
                f"{record.event:%Y-%m-%d %H:%M} UTC: the topic {self.topic.name} already has "
                f"{manifest.latest_event:%Y-%m-%d %H:%M} UTC, so intervals of {pipeline} would have to be repaired, "
                "and its live outputs would lack them.",
                fix="send ranges in their order into a new topic, or add --out-of-order to send them all the same.",
            )

    def _heartbeats(self, manifest: Manifest, first: date, last: date) -> list[datetime]:
        """Return the instants of the heartbeats that are still needed."""
        last_event = self.source.last_event(first, last)
        if last_event is None or not self.topic.value.heartbeat:
            return []
        newest, times = manifest.latest_event, heartbeat_times(last_event, self.topic.name, self.pipelines)
        written = dict.fromkeys(written_from(self.topic.value, at) for at in times)
        return [at for at in written if newest is None or at > newest]

    def _run(
        self, manifest: Manifest, entry: SentRange, total: int, pace: Pace, report: Callable[[SendProgress], None]
    ) -> _Run:
        sizes = self.source.days()

        def count(record: FeedRecord, position: RecordPosition) -> None:
            manifest.add(entry, record, position, sizes)

        return _Run(
            self.producer,
            InFlight(self.spec.max_unacknowledged_arrival),
            self.clock,
            pace=pace,
            total=total,
            count=count,
            save=lambda: self.store.save(manifest),
            report=report,
        )

    def _send_heartbeat(self, manifest: Manifest, entry: SentRange, at: datetime) -> None:
        value = heartbeat_value(self.topic.value, at)
        position = self.producer.send(None, encode(value), partition=0).wait()
        manifest.advance(at, position)
        entry.heartbeat = at

    def _finish(self, manifest: Manifest) -> None:
        """Mark what is complete, and that nothing is under way."""
        sizes = self.source.days()
        for entry in manifest.ranges:
            if not entry.finished and manifest.missing(entry.first, entry.last, sizes) == 0:
                entry.finished = True
                entry.finished_at = self.clock.now()
                entry.end = dict(manifest.known_offsets)
        manifest.sending = False
        self.store.save(manifest)


@dataclass
class _Run:
    """The loop that sends, paces, counts, saves and reports."""

    producer: Producer
    in_flight: InFlight
    clock: Clock
    _: KW_ONLY
    pace: Pace
    total: int
    count: Callable[[FeedRecord, RecordPosition], None]
    save: Callable[[], None]
    report: Callable[[SendProgress], None]
    sent: int = 0

    def __post_init__(self) -> None:
        self._started = self._saved = self._reported = self.clock.monotonic()

    def send(self, records: Iterable[FeedRecord]) -> None:
        """Send all, and return when all are acknowledged."""
        begin: datetime | None = None
        for index, record in enumerate(records):
            begin = begin or record.arrival
            self._wait_until(self._started + self.pace.due(index, record.arrival - begin))
            self._account(self.in_flight.make_room(record.arrival))
            self.in_flight.add(record, self._sent(record))
        self._account(self.in_flight.drain())
        self.report(self._progress())

    def _sent(self, record: FeedRecord) -> Acknowledgement:
        try:
            return self.producer.send(record.key, record.payload)
        except RecordTooLargeError as error:
            why = f"The feed ends before its record {record.identity}. {error.message}"
            raise RecordTooLargeError(why, fix=error.fix) from error

    def _wait_until(self, due: float) -> None:
        while (left := due - self.clock.monotonic()) > 0:
            self._account(self.in_flight.collect())
            self.clock.sleep(min(left, _NAP_SECONDS))

    def _account(self, acknowledged: Iterable[tuple[FeedRecord, RecordPosition]]) -> None:
        for record, position in acknowledged:
            self.count(record, position)
            self.sent += 1
        now = self.clock.monotonic()
        if now - self._saved >= _SAVE_SECONDS:
            self._saved = now
            self.save()
        if now - self._reported >= _REPORT_SECONDS:
            self._reported = now
            self.report(self._progress())

    def _progress(self) -> SendProgress:
        elapsed = self.clock.monotonic() - self._started
        return SendProgress(self.sent, self.total, self.sent / elapsed if elapsed > 0 else 0.0)
