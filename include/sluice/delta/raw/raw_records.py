"""A raw table's offsets and single records, without Spark: what a comparison with Kafka reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds

from sluice.delta.conditions import at_offsets, during
from sluice.delta.reading import dataset_of
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.conservation import MAX_GAPS, OffsetCensus, PartitionKey, StoredRecord
from sluice.intervals.record_positions import OffsetRange, RecordPositions, TopicPosition
from sluice.storage.folder import Folder

_WHERE = ["topic_id", "partition", "offset"]
_CONTENT = ["key", "value", "headers", "timestamp"]
_REPEATED = 20


@dataclass(frozen=True)
class DeltaRawRecords:
    """Implements `sluice.intervals.backfill.conservation.RawRecords`.

    Attributes:
        folder: of the table.
        version: of the table.
    """

    folder: Folder
    version: int

    def spans(self, times: Sequence[Interval]) -> Mapping[PartitionKey, OffsetRange]:
        """See the port. Files without records of these times are passed over."""
        found: dict[PartitionKey, OffsetRange] = {}
        for batch in self._batches(_WHERE, _any(during("event_time", each) for each in times)):
            ends = batch.group_by(["topic_id", "partition"]).aggregate([("offset", "min"), ("offset", "max")])
            for row in ends.to_pylist():
                key = row["topic_id"], row["partition"]
                low, high = found.get(key, (row["offset_min"], row["offset_max"]))
                found[key] = min(low, row["offset_min"]), max(high, row["offset_max"])
        return found

    def census(self, spans: Mapping[PartitionKey, OffsetRange]) -> Mapping[PartitionKey, OffsetCensus]:
        """See the port. One pass per topic id, over two columns."""
        counts = {key: _Counted.of(span) for key, span in spans.items()}
        for topic in dict.fromkeys(topic for topic, _ in spans):
            own = {partition: count for (name, partition), count in counts.items() if name == topic}
            wanted = _any(at_offsets(topic, partition, count.span) for partition, count in own.items())
            for batch in self._batches(_WHERE[1:], wanted):
                partitions, offsets = (batch.column(name).to_numpy() for name in _WHERE[1:])
                for partition, count in own.items():
                    count.add(offsets[partitions == partition])
        return {key: count.census() for key, count in counts.items()}

    def begins_at(self, key: PartitionKey, offset: int) -> bool:
        """See the port. Files without such records are passed over."""
        topic, partition = key
        below = at_offsets(topic, partition, (0, offset - 1))
        return bool(self._rows.scanner(columns=_WHERE[:1], filter=below).head(1).num_rows == 0)

    def records(self, positions: RecordPositions) -> Mapping[TopicPosition, StoredRecord]:
        """See the port."""
        wanted = _any(at_offsets(topic, partition, span) for topic, partition, span in positions.pieces())
        return {
            (row["topic_id"], row["partition"], row["offset"]): StoredRecord(
                row["key"], row["value"], _headers(row["headers"]), _known(row["timestamp"])
            )
            for batch in self._batches([*_WHERE, *_CONTENT], wanted)
            for row in _in_microseconds(batch).to_pylist()
        }

    @cached_property
    def _rows(self) -> ds.Dataset:
        return dataset_of(self.folder, self.version)

    def _batches(self, columns: list[str], wanted: ds.Expression) -> Iterator[pa.Table]:
        for batch in self._rows.scanner(columns=columns, filter=wanted).to_batches():
            if batch.num_rows:
                yield pa.Table.from_batches([batch])


@dataclass
class _Counted:
    """The offsets of one range, one byte each.

    Attributes:
        span: the range.
        seen: how often each offset was met, up to 2.
        repetitions: rows beyond the first of an offset.
    """

    span: OffsetRange
    seen: npt.NDArray[np.uint8]
    repetitions: int = 0

    @classmethod
    def of(cls, span: OffsetRange) -> _Counted:
        return cls(span, np.zeros(span[1] - span[0] + 1, np.uint8))

    def add(self, offsets: npt.NDArray[np.int64]) -> None:
        """Count some offsets of the range."""
        found, times = np.unique(offsets - self.span[0], return_counts=True)
        again = (self.seen[found] > 0) | (times > 1)
        self.repetitions += int(times.sum() - np.count_nonzero(self.seen[found] == 0))
        self.seen[found] = 1 + again

    def census(self) -> OffsetCensus:
        """Return what is missing, and what is there again."""
        begin = self.span[0]
        edges = np.flatnonzero(np.diff(np.concatenate([[False], self.seen == 0, [False]])))
        gaps = edges.reshape(-1, 2) + begin
        listed = tuple((int(low), int(high) - 1) for low, high in gaps[:MAX_GAPS])
        unlisted = int((gaps[MAX_GAPS:, 1] - gaps[MAX_GAPS:, 0]).sum())
        repeated = tuple(int(offset) + begin for offset in np.flatnonzero(self.seen > 1)[:_REPEATED])
        return OffsetCensus(listed, unlisted, self.repetitions, repeated)


def _any(conditions: Iterator[ds.Expression]) -> ds.Expression:
    return reduce(or_, conditions, ds.scalar(False))


def _headers(headers: Sequence[Mapping[str, Any]] | None) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((header["key"], header["value"]) for header in headers or ())


def _in_microseconds(rows: pa.Table) -> pa.Table:
    """Return rows whose timestamps are numbers: a record may have one that Python's calendar has not."""
    number = rows.schema.get_field_index("timestamp")
    return rows.set_column(number, "timestamp", rows.column(number).cast(pa.int64()))


def _known(microseconds: int | None) -> int | None:
    """Return a record's timestamp; Spark writes the millisecond before 1970 where Kafka has none."""
    return None if microseconds is None or microseconds < 0 else microseconds // 1000
