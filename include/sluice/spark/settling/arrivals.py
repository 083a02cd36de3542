"""An examination over columns: the same answers as `sluice.settling.examination.examined`, in one pass by Arrow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from sluice.delta.conditions import beyond, partition_number
from sluice.delta.reading import dataset_of
from sluice.intervals.arrivals import ArrivalSpan
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.settling.examination import Examination
from sluice.settling.rules import SettlingRules
from sluice.spark.records.instants import instant
from sluice.specs.model.model import TopicSpec
from sluice.specs.model.sources import TimeRules
from sluice.storage.folder import Folder

_COLUMNS = ["topic_id", "partition", "offset", "event_time", "arrival_time", "timestamp"]
_MICROSECOND = timedelta(microseconds=1)
_NEIGHBOURS = 1_000
"""How many offsets beside a hole say when its records arrived."""


@dataclass(frozen=True)
class TimeColumns:
    """What an examination reads of the records between two reaches.

    Attributes:
        rows: `topic_id` string, `partition` int, `offset` long; `event_time`, `arrival_time`, `timestamp` times,
            null where unknown.
        topic: its name.
        end: up to where they were read.
    """

    rows: pa.Table
    topic: str
    end: Reach

    @classmethod
    def read(cls, folder: Folder, pinned: RawPosition, since: Reach, topic: TopicSpec) -> TimeColumns:
        """Read them from a raw table; files that hold nothing else are passed over.

        Args:
            folder: of the table.
            pinned: how far to read.
            since: what is left out.
            topic: the table's.
        """
        wanted = between(since, pinned.reach)
        rows = dataset_of(folder, pinned.version).to_table(columns=_COLUMNS, filter=wanted)
        return cls(rows, topic.name, pinned.reach)


def examined_columns(
    columns: TimeColumns,
    times: TimeRules,
    rules: SettlingRules,
    settled_until: datetime | None,
    taken: Callable[[pa.Table], pa.Table],
) -> Examination:
    """Judge records; see `sluice.settling.examination.examined`.

    Args:
        columns: the records.
        times: the pipeline's: how far arrival times and event times may be ahead.
        rules: the pipeline's, for settling.
        settled_until: see there.
        taken: returns those of some records that the pipeline takes into rows: what these columns do not say.
    """
    rows = columns.rows.filter(_believed(columns.rows, times))
    on_time = rows.filter(_is_on_time(rows, times))
    spans, disorder = _arrivals(rows, columns.topic, rules)
    first = pc.min(on_time.column("event_time")).as_py()
    overtaken = {} if settled_until is None else _overtaken(on_time, columns, rules, settled_until, taken)
    return Examination(
        columns.end.offsets, spans, overtaken, None if first is None else first.astimezone(UTC), disorder
    )


def _overtaken(
    on_time: pa.Table,
    columns: TimeColumns,
    rules: SettlingRules,
    settled_until: datetime,
    taken: Callable[[pa.Table], pa.Table],
) -> dict[datetime, dict[str, int]]:
    before = pc.less(on_time.column("event_time"), pa.scalar(settled_until + rules.lookahead))
    suspects = on_time.filter(before)
    newest = columns.end.topics[-1] if columns.end.topics else None
    found: dict[datetime, dict[str, int]] = defaultdict(dict)
    for row in taken(suspects).to_pylist() if suspects.num_rows else ():
        for interval in rules.touched(row["event_time"].astimezone(UTC)):
            if interval.end <= settled_until:
                ends, name = found[interval.start], f"{columns.topic}/{row['partition']}"
                ends[name] = max(row["offset"] + 1 if newest in (None, row["topic_id"]) else 0, ends.get(name, 0))
    return found


def arrivals_around(
    folder: Folder, pinned: RawPosition, hole: Hole, times: TimeRules
) -> tuple[datetime | None, datetime | None]:
    """Return the arrival times that bound those of lost records; see `sluice.settling.ports.RawSource.around`."""
    table, offset = dataset_of(folder, pinned.version), ds.field("offset")
    own = (ds.field("topic_id") == hole.topic) & (ds.field("partition") == partition_number(hole.partition))
    later = pinned.reach.topics[pinned.reach.topics.index(hole.topic) + 1 :]

    def believed(wanted: ds.Expression) -> pa.ChunkedArray:
        rows = table.to_table(columns=["arrival_time", "timestamp"], filter=wanted)
        return rows.filter(_believed(rows, times)).column("arrival_time")

    last = pc.min(believed(own & (offset >= hole.end) & (offset < hole.end + _NEIGHBOURS))).as_py()
    if last is None and later:
        last = pc.min(believed(ds.field("topic_id").isin(later) & (offset < _NEIGHBOURS))).as_py()
    before = believed(own & (offset < hole.first) & (offset >= hole.first - _NEIGHBOURS))
    first = pc.max(before if last is None else before.filter(pc.less_equal(before, pa.scalar(last)))).as_py()
    return (None if first is None else first.astimezone(UTC), None if last is None else last.astimezone(UTC))


def between(since: Reach, until: Reach) -> ds.Expression:
    """Return the condition that a record lies below one reach and not below another."""
    if not until.topics:
        return _inside(since.offsets, until.offsets)
    *earlier, newest = until.topics
    last = since.topics[-1:]
    read = set(until.topics[: until.topics.index(last[0])]) if last and last[0] in until.topics else set[str]()
    parts = [
        (ds.field("topic_id") == topic) & _inside(since.offsets if (topic,) == last else {}, None)
        for topic in earlier
        if topic not in read
    ]
    own = (ds.field("topic_id") == newest) & _inside(since.offsets if (newest,) == last else {}, until.offsets)
    return reduce(or_, parts, own)


def _inside(first: Mapping[str, int], end: Mapping[str, int] | None) -> ds.Expression:
    """Return the condition that a record of one topic lies between offsets; without an end, behind the first."""
    if end is None:
        return beyond(first)
    partition, offset = ds.field("partition"), ds.field("offset")
    known = [
        (partition == partition_number(name)) & (offset >= first.get(name, 0)) & (offset < after)
        for name, after in end.items()
    ]
    return reduce(or_, known, ds.scalar(False))


def _believed(rows: pa.Table, times: TimeRules) -> pa.ChunkedArray:
    """Whether an arrival time is known, and not ahead of the broker's by more than the clock skew."""
    ahead = pc.greater(pc.subtract(rows.column("arrival_time"), rows.column("timestamp")), _length(times.clock_skew))
    return pc.and_(pc.is_valid(rows.column("arrival_time")), pc.invert(pc.fill_null(ahead, fill_value=False)))


def _is_on_time(rows: pa.Table, times: TimeRules) -> pa.ChunkedArray:
    delay = pc.subtract(rows.column("arrival_time"), rows.column("event_time"))
    late, early = _length(times.allowed_lateness), _length(-times.future_skew)
    return pc.fill_null(pc.and_(pc.less_equal(delay, late), pc.greater_equal(delay, early)), fill_value=False)


def _length(length: timedelta) -> pa.Scalar:
    return pa.scalar(length, pa.duration("us"))


def _arrivals(rows: pa.Table, topic: str, rules: SettlingRules) -> tuple[dict[str, tuple[ArrivalSpan, ...]], timedelta]:
    """Return the spans of arrival times per partition, and the greatest disorder within one.

    A topic that was created again begins again: what is in it was appended after all of the one before, and may be
    older, as copies are.
    """
    spans: dict[str, tuple[ArrivalSpan, ...]] = {}
    disorder, gap = 0, rules.max_advance // _MICROSECOND
    for number in pc.unique(rows.column("partition")).to_pylist():
        own = rows.filter(pc.equal(rows.column("partition"), number)).sort_by("offset")
        edges = _edges(np.sort(_microseconds(own)), gap)
        for topic_id in pc.unique(own.column("topic_id")).to_pylist():
            arrivals = _microseconds(own.filter(pc.equal(own.column("topic_id"), topic_id)))
            for first, last in edges:
                inside = arrivals[(first <= arrivals) & (arrivals <= last)]
                below = np.maximum.accumulate(inside) - inside
                disorder = max(disorder, int(below[below <= gap].max(initial=0)))
        spans[f"{topic}/{number}"] = tuple(ArrivalSpan(instant(first), instant(last)) for first, last in edges)
    return spans, disorder * _MICROSECOND


def _microseconds(rows: pa.Table) -> npt.NDArray[np.int64]:
    """Return arrival times, in the order of the rows."""
    found: npt.NDArray[np.int64] = rows.column("arrival_time").cast(pa.int64()).to_numpy()
    return found


def _edges(arrivals: npt.NDArray[np.int64], gap: int) -> list[tuple[int, int]]:
    """Cut arrival times, in order and in microseconds, where more than `gap` lies between two."""
    cuts = np.flatnonzero(np.diff(arrivals) > gap)
    firsts, lasts = [0, *(cuts + 1)], [*cuts, len(arrivals) - 1]
    return [(int(arrivals[first]), int(arrivals[last])) for first, last in zip(firsts, lasts, strict=True)]
