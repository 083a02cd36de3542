"""What one observation of a stream can show. None means "could not observe", never "nothing there"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from sluice.settling.status import SettlingStatus
from sluice.specs.catalog.rhythm import UNDECLARED, Rhythm
from sluice.streams.failures.failure import Failure
from sluice.streams.life.driver_files import Executors
from sluice.streams.life.launcher import DriverReport
from sluice.streams.life.status import Pause
from sluice.streams.position.checkpoint import CommittedBatch, PlannedBatch
from sluice.topics.administration import RecordStamp
from sluice.wording import span


@dataclass(frozen=True)
class ObservedSettler:
    """What was seen of the settler behind a stream.

    Attributes:
        pipeline: its name.
        upstream: the streams that fill what it settles from: raw tables, and settled tables of other pipelines.
        status: where it stood after its newest round; None if that is not known.
        decided: a person has decided since about the advance that it holds back.
    """

    pipeline: str
    upstream: tuple[str, ...]
    status: SettlingStatus | None = None
    decided: bool = False


@dataclass(frozen=True)
class Observation:
    """What was seen of a stream at one moment.

    Attributes:
        at: when it was gathered (UTC).
        driver: the launcher's report.
        committed: next offset to read per `topic/partition`, from the newest committed batch; before the first, from
            where its epoch begins; {} if that is where its topic begins.
        epoch: the stream's reset epoch, in which these positions count.
        batches: number of committed batches.
        committed_at: when the newest batch was committed.
        ends: end offset per `topic/partition` at the broker.
        held: how many offsets lie behind an open transaction, per `topic/partition` that has one: no reader may have
            them yet, and they are not among the ends.
        starts: first offset that the broker still has, per `topic/partition`.
        stop_requested: a user asked for the stop, and it is on record.
        never_requested: no user ever asked for it to run.
        halted: why nothing starts the stream any more although it shall run, and what to do; empty if that is not so.
        halted_fix: the part of it that says what to do.
        notes: why something could not be observed.
        unit: the unit's name, for commands in advice.
        history: committed batches that are news, newest first: all that the checkpoint keeps, or those since the last
            observation.
        running: the batch that is planned and not committed.
        topic_id: the cluster's UUID of the topic.
        stamps: timestamp of the first unread record per `topic/partition`; {} where the broker was not asked.
        watermark: the newest event time that the stream's state has, less the watermark's delay.
        reported_at: the driver's last word in its progress file; one that is busy with a batch says nothing.
        rhythm: what the specs say.
        shortage: why there is no capacity for the attempt that shall be submitted; empty if that is not so.
        executors: what the driver says of those that it has; None if it said nothing, or needs none.
        ended_alone: why this stream has ended although its driver lives; None if it has not.
        settler: of a settled table; None of any other stream.
        pause: how its unit stands still as planned; None if a driver runs, or should.
        done: whether it has read what was there at the start of its driver, which ends when all streams have.
    """

    at: datetime
    driver: DriverReport | None
    committed: Mapping[str, int] | None
    batches: int = 0
    committed_at: datetime | None = None
    ends: Mapping[str, int] | None = None
    starts: Mapping[str, int] | None = None
    stop_requested: bool = False
    never_requested: bool = False
    halted: str = ""
    halted_fix: str = ""
    notes: tuple[str, ...] = ()
    unit: str = ""
    history: tuple[CommittedBatch, ...] = ()
    running: PlannedBatch | None = None
    topic_id: str = ""
    stamps: Mapping[str, RecordStamp] = field(default_factory=dict)
    watermark: datetime | None = None
    reported_at: datetime | None = None
    rhythm: Rhythm = UNDECLARED
    shortage: str = ""
    executors: Executors | None = None
    ended_alone: Failure | None = None
    epoch: int = 0
    held: Mapping[str, int] = field(default_factory=dict)
    settler: ObservedSettler | None = None
    pause: Pause | None = None
    done: bool = False

    @cached_property
    def unread(self) -> Mapping[str, int] | None:
        """Records not yet in a committed batch per `topic/partition`, or None if one side is unknown."""
        if self.committed is None or self.ends is None:
            return None
        return {partition: max(0, end - self.position(partition)) for partition, end in sorted(self.ends.items())}

    @property
    def held_back(self) -> str:
        """What an open transaction holds back, as the end of a sentence; nothing if there is none."""
        which, offsets = max(self.held.items(), key=lambda item: item[1], default=("", 0))
        held = f"; an open transaction holds back {sum(self.held.values()):,} offsets, {offsets:,} of them of {which}"
        note = f"{held}: they cannot be read before it ends (kafka-transactions.sh find-hanging says whether it will)"
        return note if self.held else ""

    @cached_property
    def lag_records(self) -> int | None:
        """Records not yet in a committed batch, or None if one side is unknown."""
        unread = self.unread
        return None if unread is None else sum(unread.values())

    def position(self, partition: str) -> int:
        """Return the next offset to read: one that was never read starts at the log's first record."""
        return (self.committed or {}).get(partition, (self.starts or {}).get(partition, 0))

    @property
    def driver_text(self) -> str:
        """The driver as a phrase."""
        return "the driver" if self.driver is None else f"{self.driver.key} (pid {self.driver.pid})"

    @property
    def last_commit_text(self) -> str:
        """When the newest batch was committed, as a clause."""
        if self.committed_at is None:
            return "no batch was ever committed"
        return f"batch {self.batches - 1} was committed {ago(self.at, self.committed_at)}"

    @property
    def last_report_text(self) -> str:
        """When the driver last wrote its progress, as the end of a sentence; empty if that is not known."""
        return "" if self.reported_at is None else f", and last said something {ago(self.at, self.reported_at)}"


def ago(at: datetime, moment: datetime) -> str:
    """Return how long before `at` a moment was; clocks disagree, so it may lie ahead."""
    seconds = (at - moment).total_seconds()
    return f"{span(seconds)} ago" if seconds >= 0 else f"{span(-seconds)} ahead of this clock"
