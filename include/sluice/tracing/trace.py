"""All that is known of what became of one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sluice.intervals.backfill.trial import RowDifference
from sluice.tracing.address import RecordAddress
from sluice.tracing.intervals import RestingInterval, TracedInterval
from sluice.tracing.judgement import Judgement
from sluice.tracing.storage import BatchCommit, RawStorage, StorageState, StoredRow


@dataclass(frozen=True)
class KafkaHolding:
    """What Kafka says of a partition.

    Attributes:
        topic_id: the topic's id; empty if it could not be asked.
        first: the first offset that it still has.
        end: the next one that it will give.
        why: why nothing is known; empty if something is.
    """

    topic_id: str = ""
    first: int = 0
    end: int = 0
    why: str = ""

    def holds(self, address: RecordAddress, topic_id: str) -> bool | None:
        """Whether its log reaches over a record; None: not known.

        Args:
            address: of the record.
            topic_id: of the topic that it was appended to; empty: of this one.
        """
        if self.why:
            return None
        return topic_id in ("", self.topic_id) and self.first <= address.offset < self.end


@dataclass(frozen=True)
class DeadLetter:
    """A copy of a refused record in a topic.

    Attributes:
        place: where, as `topic/partition/offset`.
        reason: why the record was refused then, as its headers say.
        message: the same as a sentence, with the field at fault.
    """

    place: str
    reason: str
    message: str


@dataclass(frozen=True)
class PassedOutput:
    """An output that takes batches, and the batch that had the record.

    Attributes:
        kind: of the output.
        name: of its table or topic.
        commit: of the batch; None: none has come to the record yet, or its log does not reach back so far.
        letter: the record's own, of an output of dead letters; None if none was found.
    """

    kind: str
    name: str
    commit: BatchCommit | None = None
    letter: DeadLetter | None = None


@dataclass(frozen=True)
class RecordRows:
    """The rows that one record has a part in: those that differ if they are computed without it.

    Attributes:
        differences: `old` is without the record, `new` with it; at most so many as were asked for.
        assumed: starts of those intervals of which readers do not see these rows: they are what would be computed now.
        more: whether there are more differences.
        alone: rows that are made of the record alone, as JSON values: of a transform whose rows are appended.
        other_code: whether other code than today's computed what readers see of an interval.
    """

    differences: tuple[RowDifference, ...] = ()
    assumed: frozenset[datetime] = frozenset()
    more: bool = False
    alone: tuple[Mapping[str, Any], ...] = ()
    other_code: bool = False


@dataclass(frozen=True)
class PipelineTrace:
    """What a pipeline made of a record.

    Attributes:
        pipeline: its name.
        unit: that runs it.
        judgement: what its rules make of the record.
        intervals: of its interval table, that the record has a part in.
        waiting: what its open intervals wait for, a sentence each.
        outputs: those that take batches, and dead letters.
        resting: intervals of other pipelines that are made of `intervals`.
        backfills: what backfills of these intervals are at work or were held back, a sentence each.
        cases: of the quarantine, that the record is in, each as `id: state`.
        rows: that differ without the record; None: they were not computed.
        notes: why some of this is not known, a sentence each.
    """

    pipeline: str
    unit: str
    judgement: Judgement
    intervals: tuple[TracedInterval, ...] = ()
    waiting: tuple[str, ...] = ()
    outputs: tuple[PassedOutput, ...] = ()
    resting: tuple[RestingInterval, ...] = ()
    backfills: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    rows: RecordRows | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trace:
    """What became of a record.

    Attributes:
        address: of the record.
        unit: that reads its topic.
        table: the raw table's name.
        raw: where it stands there.
        kafka: what Kafka says.
        record: its bytes; None if neither has them.
        fields: of its value, by their declared names; None if it has none that Python can read.
        commit: by which the raw stream stored it; None if that is not known.
        copies: addresses of other records with the same time and bytes, or of the same event.
        pipelines: that read the topic.
    """

    address: RecordAddress
    unit: str
    table: str
    raw: RawStorage
    kafka: KafkaHolding
    record: StoredRow | None = None
    fields: Mapping[str, Any] | None = field(default=None)
    commit: BatchCommit | None = None
    copies: tuple[str, ...] = ()
    pipelines: tuple[PipelineTrace, ...] = ()

    @property
    def is_missing(self) -> bool:
        """Whether Kafka has the record, and the raw stream has passed over it."""
        return self.raw.state is StorageState.ABSENT and self.record is not None

    @property
    def topic_id(self) -> str:
        """Of the topic that it was appended to; empty if that is not known."""
        return self.record.topic_id if self.record else ""
