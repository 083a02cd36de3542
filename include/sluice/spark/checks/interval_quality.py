"""Expectations about intervals, evaluated: at the gate for staged rows, and afterwards for what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession

from sluice.clock import Clock, SystemClock
from sluice.intervals.entries import Content
from sluice.intervals.ledger import Ledger
from sluice.project.project import Project
from sluice.quality.intervals import ExpectationResult, IntervalCheckResult, Values, judge_intervals, window
from sluice.quality.results import QualityResults, StoredResult, known_values
from sluice.spark.checks.interval_measures import Found, measure
from sluice.spark.checks.record_measures import measure_records
from sluice.spark.checks.references import References
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.tables.output import OutputTable
from sluice.spark.tables.records import Records
from sluice.specs.expectations.model import Expectation, ExpectationsSpec, Subject
from sluice.specs.expectations.set_level import OWN_ARGUMENTS, Own

SHOWN = 400
"""Intervals in the picture of an expectation."""


@dataclass(frozen=True)
class IntervalQuality:
    """Judges intervals of one pipeline.

    Attributes:
        spark: the session.
        pipeline: its name.
        table: what is published.
        ledger: of the table.
        results: what was found before.
        references: the tables that values are looked up in.
        expectations: those `on: [interval]`.
        clock: says when something was found.
    """

    spark: SparkSession
    pipeline: str
    table: OutputTable
    ledger: Ledger
    results: QualityResults
    references: References
    expectations: tuple[Expectation, ...]
    clock: Clock = field(default_factory=SystemClock)

    def judge(self, rows: DataFrame, starts: Sequence[datetime], records: Records) -> tuple[IntervalCheckResult, ...]:
        """Judge intervals.

        Args:
            rows: of these intervals, published or not, with the columns of the output table.
            starts: of the intervals (UTC).
            records: those behind the intervals.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        if not self.expectations or not starts:
            return ()
        measured = self._measured(rows, starts, records)
        return judge_intervals(self.expectations, measured, self._length, self._earlier(starts))

    def catch_up(
        self, rows: DataFrame, starts: Sequence[datetime], records: Records
    ) -> tuple[IntervalCheckResult, ...]:
        """Judge those published intervals that hold something else than when they were judged, and keep the results.

        What refers to another table is judged again each time: that table may have changed.

        Args:
            rows: of these intervals, as they are published, with the columns of the output table.
            starts: of the intervals (UTC).
            records: those behind the intervals.

        Returns:
            The results of all of them, those that are on record included, in the order of time. An interval that is
            known to be incomplete is none of them: it is judged when it is repaired.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        contents = {start: content for start in starts if (content := self._content(start)) is not None}
        if not self.expectations or not contents:
            return ()
        again = replace(self, expectations=tuple(each for each in self.expectations if each.expect == Own.REFERENCE))
        lasting = {each.key for each in self.expectations} - {each.key for each in again.expectations}
        kept = self._on_record(min(contents), max(contents) + self._length)
        kept = [each for each in kept if contents.get(each.checked.start) == each.content]
        known = {(each.checked.start, each.checked.key): each.checked for each in kept if each.checked.key in lasting}
        new = [start for start in contents if any((start, key) not in known for key in lasting)]
        old = sorted(contents.keys() - {*new})
        judged = self.judge(rows.where(self.table.condition(new)), new, records)
        judged += again.judge(rows.where(self.table.condition(old)), old, records)
        self.keep(judged, contents, by="check")
        known |= {(each.start, each.key): each for each in judged}
        order = {each.key: number for number, each in enumerate(self.expectations)}
        return tuple(sorted(known.values(), key=lambda each: (each.start, order[each.key])))

    def history(self, until: datetime) -> list[tuple[Expectation, tuple[IntervalCheckResult, ...]]]:
        """Return what is on record of each expectation in the last intervals before a time, in the order of time.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        if not self.expectations:
            return []
        since = until - SHOWN * self._length
        results = [each.checked for each in self._on_record(since, until)]
        return [(each, tuple(one for one in results if one.key == each.key)) for each in self.expectations]

    def _on_record(self, since: datetime, until: datetime) -> list[StoredResult]:
        """Return what is on record of the expectations in the intervals of a time, with today's severities."""
        declared = {each.key: each for each in self.expectations}
        kept = self.results.of(self.pipeline, [*declared], since, until)
        return [replace(each, checked=each.checked.as_declared(declared[each.checked.key])) for each in kept]

    def keep(self, judged: Sequence[IntervalCheckResult], contents: Mapping[datetime, Content], *, by: str) -> None:
        """Put on record what was found of intervals that hold this.

        Args:
            judged: the results.
            contents: what each interval holds, by its start.
            by: a backfill's id, or `check`.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        at = self.clock.now()
        kept = [
            StoredResult(each, contents[each.start], by, at)
            for each in judged
            if each.verdict is not ExpectationResult.ERROR
        ]
        if kept:
            self.results.keep(self.pipeline, kept)

    def _measured(self, rows: DataFrame, starts: Sequence[datetime], records: Records) -> dict[datetime, list[Found]]:
        shared = [each for each in self.expectations if each.expect not in OWN_ARGUMENTS]
        own = [each for each in self.expectations if each.expect in OWN_ARGUMENTS]
        of_rows = measure(rows, self.table.column, starts, shared)
        of_records = measure_records(rows, self.table.column, starts, own, records=records, references=self.references)
        by_key: dict[datetime, dict[str, Found]] = {
            start: {
                **{each.key: found for each, found in zip(shared, of_rows[start], strict=True)},
                **{each.key: found for each, found in zip(own, of_records[start], strict=True)},
            }
            for start in starts
        }
        return {start: [found[each.key] for each in self.expectations] for start, found in by_key.items()}

    def _earlier(self, starts: Sequence[datetime]) -> Mapping[str, Values]:
        """Return what is known of the intervals in the windows: as it is on record, or measured in the table now."""
        historic = [each for each in self.expectations if each.history is not None]
        wanted = {
            at
            for each in historic
            if each.history
            for start in starts
            for at in window(each.history, start, self._length)
        }
        contents = {at: content for at in wanted - {*starts} if (content := self._content(at)) is not None}
        if not contents:
            return {}
        keys = [each.key for each in historic]
        kept = self.results.of(self.pipeline, keys, min(contents), max(contents) + self._length)
        known: dict[str, dict[datetime, float]] = {key: {} for key in keys} | known_values(kept, contents)
        unknown = sorted(at for at in contents if any(at not in known[key] for key in keys))
        if unknown:
            rows = self.table.rows(self.spark, unknown, self.ledger.version)
            for at, measured in measure(rows, self.table.column, unknown, historic).items():
                for key, one in zip(keys, measured, strict=True):
                    if not isinstance(one, str) and one.value is not None:
                        known[key].setdefault(at, one.value)
        return known

    def _content(self, start: datetime) -> Content | None:
        """Return what a closed interval holds; None for one of which nothing sound is known."""
        row = self.ledger.rows.get(start)
        return None if row is None or row.current is None or row.dirty else row.current.content

    @property
    def _length(self) -> timedelta:
        return self.table.output.interval_length


def interval_quality(
    project: Project, spark: SparkSession, code: PipelineCode, ledger: Ledger, suite: ExpectationsSpec | None
) -> IntervalQuality:
    """Return what judges the intervals of a pipeline; without a suite it has nothing to say."""
    pipeline = code.pipeline
    return IntervalQuality(
        spark=spark,
        pipeline=pipeline.name,
        table=OutputTable(project.folder.table(pipeline.intervals.table), pipeline.intervals),
        ledger=ledger,
        results=project.records.quality(),
        references=References(spark, code.static, project.folder.table),
        expectations=() if suite is None else suite.about(Subject.INTERVAL),
    )
