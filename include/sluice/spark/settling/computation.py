"""The rows of settled intervals, computed by the code of a backfill over the raw tables of a pipeline's topics."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from sluice.delta.conditions import during
from sluice.delta.settled_log import CollectedRows, StagedRows
from sluice.intervals.alignment import Interval
from sluice.intervals.reach import RawPosition, Reach
from sluice.settling.rules import SettlingRules
from sluice.settling.strays import refuse_strays
from sluice.spark.records.pipeline import PipelineCode, good_input, partition_column, rows_of
from sluice.spark.settling.computed import ComputedRows, joined
from sluice.spark.settling.raw_source import RawFile
from sluice.spark.sinks.collected import brought
from sluice.spark.tables.continuation import Continuation
from sluice.spark.tables.raw_table import FEW, frame_of
from sluice.specs.model.outputs import IntervalsOutput
from sluice.storage.folder import Folder

_MOST_CALLS = 24
"""Calls of a transform that is given one interval at a time, for one commit: what a crash repeats takes seconds."""


Given = Callable[[Interval, int], Mapping[str, DataFrame]]
"""Returns what a call is given for some intervals, read a number of times as far beyond them as declared: good records
by topic, and rows of tables."""


class ComputedSource(Protocol):
    """What rows are computed from: the raw table of a topic, or the settled table of another pipeline."""

    @property
    def rules(self) -> SettlingRules:
        """Of the source, for settling."""

    def records(self, pinned: RawPosition, below: Reach, read: Interval, *, few: int = FEW) -> DataFrame:
        """Return what `result_rows` takes of the source.

        Args:
            pinned: the table.
            below: what is taken of it.
            read: when it happened.
            few: how much Arrow reads at most.
        """

    def hours(self, pinned: RawPosition, read: Interval) -> list[Interval]:
        """Return the hours of a range of time in which something happened, in no order."""

    def files(self, pinned: RawPosition, between: Interval) -> list[RawFile]:
        """Return the files that may hold something of a range of time."""


@dataclass(frozen=True)
class RawComputation:
    """Implements `sluice.settling.ports.Computation`.

    Attributes:
        sources: the raw tables, by topic, and the settled ones.
        code: the pipeline's.
        staging: the folder for rows that outgrow the driver.
        max_records: that one computation takes, if it takes more than one interval.
        continuation: returns what calls continue a state by, from an interval on; None where they hand on nothing.
    """

    sources: Mapping[str, ComputedSource]
    code: PipelineCode
    staging: Folder
    max_records: int = 4_000_000
    continuation: Callable[[datetime], Continuation] | None = None

    def renewed(self) -> RawComputation:
        """See the port."""
        code = self.code.newest()
        return self if code is self.code else replace(self, code=code)

    @property
    def static(self) -> Mapping[str, str]:
        """See the port."""
        return self.code.digests

    def bounded(self, pinned: Mapping[str, RawPosition], intervals: Interval) -> Interval:
        """See the port. How many records there are is estimated from the logs alone, which know each file's bounds.

        What lies before the intervals is read once, however many are computed: the more of them, the less often.
        """
        length = self._rules.length
        most = min(self.max_records, FEW) if self._rules.per_interval else self.max_records
        files = {t: source.files(pinned[t], source.rules.read_range(intervals)) for t, source in self.sources.items()}

        def fits(count: int) -> bool:
            ends = {t: intervals.start + count * length + source.rules.lookahead for t, source in self.sources.items()}
            inside = {topic: Interval(intervals.start, end) for topic, end in ends.items()}
            return sum(file.records_in(inside[topic]) for topic, own in files.items() for file in own) <= most

        fitting = bisect_left(
            range(1, (intervals.end - intervals.start) // length + 1), x=True, key=lambda n: not fits(n)
        )
        found = Interval(intervals.start, intervals.start + max(1, fitting) * length)
        more = self._with_records(pinned, found)[_MOST_CALLS:] if self._rules.per_interval else []
        return Interval(found.start, more[0].start) if more else found

    def compute(
        self, pinned: Mapping[str, RawPosition], below: Mapping[str, Reach], intervals: Interval
    ) -> CollectedRows | StagedRows:
        """See the port.

        Raises:
            RefusedError: rows lie in intervals that are not made of the records that were read.
        """
        given = partial(self._read, pinned, below)
        if not self._rules.per_interval:
            return self._computed(given, intervals, self.staging)
        first = Interval(intervals.start, intervals.start + self._rules.length)
        calls = self._with_records(pinned, intervals) or [first]  # one that makes no rows says of which columns
        continuation = None if self.continuation is None else self.continuation(calls[0].start)
        folders = (self.staging / f"{call.start:%Y%m%dT%H}" for call in calls)
        own = self._decoded(given, calls) or given
        parts = [self._computed(own, call, at, continuation) for call, at in zip(calls, folders, strict=True)]
        return replace(joined(parts, self.staging), carried=continuation.carried if continuation is not None else {})

    def _read(
        self, pinned: Mapping[str, RawPosition], below: Mapping[str, Reach], intervals: Interval, breadth: int
    ) -> Mapping[str, DataFrame]:
        """Return what a call is given for some intervals, read a number of times as far beyond them as declared."""
        few = min(FEW, self.max_records)
        records = {
            topic: source.records(pinned[topic], below[topic], source.rules.read_range(intervals, breadth), few=few)
            for topic, source in self.sources.items()
        }
        return good_input(records, self.code)

    def _decoded(self, given: Given, calls: Sequence[Interval]) -> Given | None:
        """Return what gives each call its own of records that are decoded once for all; None where that cannot be.

        A call costs more by the plan of its validation than by its records.
        """
        if self.code.tables or self._output.since_column is not None:
            return None
        sources, held = self.code.sources, dict[str, pa.Table]()
        for topic, good in given(Interval(calls[0].start, calls[-1].end), 1).items():
            spark, table = good.sparkSession, brought(good.select(*sources[topic].taken_columns))
            if table is None:
                return None
            held[topic] = table

        def own(intervals: Interval, breadth: int) -> Mapping[str, DataFrame]:
            ranges = {topic: self.sources[topic].rules.read_range(intervals, breadth) for topic in held}
            within = {topic: during(sources[topic].value.event_time, ranges[topic]) for topic in held}
            return {topic: frame_of(spark, table.filter(within[topic])) for topic, table in held.items()}

        return own

    def _with_records(self, pinned: Mapping[str, RawPosition], intervals: Interval) -> list[Interval]:
        """Return those of some intervals whose rows records may be made into, in order."""
        touched = {
            each
            for topic, source in self.sources.items()
            for hour in source.hours(pinned[topic], source.rules.read_range(intervals))
            for each in source.rules.touched_by_any_of(hour)
        }
        return sorted(each for each in touched if intervals.start <= each.start < intervals.end)

    def _computed(
        self, given: Given, intervals: Interval, folder: Folder, continuation: Continuation | None = None
    ) -> CollectedRows | StagedRows:
        """Return the rows of intervals, by one call of the transform that is given what they are made of.

        Args:
            given: returns what that is.
            intervals: see `compute`.
            folder: for files, if the rows outgrow the driver.
            continuation: what the interval is called in, where intervals hand on something.
        """
        rules, breadth = self._rules, 1
        rows = self._rows(given(intervals, breadth), intervals, folder, continuation)
        while self._may_lack_records(rows, intervals, intervals.start - breadth * rules.lookback / 2):
            breadth *= 2
            rows = self._rows(given(intervals, breadth), intervals, folder, continuation)
        refuse_strays(self._output.table, rows.span(), rules.read_range(intervals, breadth), rules)
        return rows.only(intervals)

    @property
    def _output(self) -> IntervalsOutput:
        return self.code.pipeline.intervals

    @property
    def _rules(self) -> SettlingRules:
        return SettlingRules.of(self.code.pipeline)

    def _rows(
        self, good: Mapping[str, DataFrame], intervals: Interval, folder: Folder, continuation: Continuation | None
    ) -> ComputedRows:
        made = rows_of(good, self.code) if continuation is None else continuation.call(intervals.start, good, self.code)
        return ComputedRows.of(made, partition_column(self._output), folder)

    def _may_lack_records(self, rows: ComputedRows, intervals: Interval, instant: datetime) -> bool:
        """Whether a row begins so close to the first records that were read that earlier ones may belong to it."""
        since = self._output.since_column
        return since is not None and rows.any_before(since, instant, intervals)
