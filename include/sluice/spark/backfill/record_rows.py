"""What Spark says of one record: the judgement of all rules, and the rows that differ if it is left out.

The rows of an interval are computed twice by the code of a backfill, from the records behind what readers see, once
without the record. That is true for any transform; how it makes rows of records need not be known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sluice.errors import NotReadyError, SluiceError
from sluice.intervals.backfill.bounds import IntervalBound
from sluice.intervals.backfill.trial import RowDifference
from sluice.intervals.record_positions import RecordPositions
from sluice.project.project import Project
from sluice.project.tracing.pipelines import trace_of_pipeline
from sluice.quality.reasons import Outcome, Reason
from sluice.spark.backfill.comparison import all_differences
from sluice.spark.backfill.examination import ChunkExaminer
from sluice.spark.backfill.state_chain import state_chain
from sluice.spark.checks.quarantine import pinned_raw
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.records.as_json import as_json
from sluice.spark.records.offsets import rows_at
from sluice.spark.records.pipeline import PipelineCode, good_records, transformed
from sluice.spark.records.validation import DETAIL, OUTCOME, REASON
from sluice.spark.sinks.dead_letters import refused
from sluice.spark.sinks.raw import raw_records
from sluice.spark.tables.output import OutputTable
from sluice.spark.tables.raw_table import RawTable
from sluice.specs.model.outputs import RowsOutput
from sluice.storage.folder import Folder, remove_folder
from sluice.tracing.intervals import Part, TracedInterval
from sluice.tracing.judgement import FoundRecord, Judgement
from sluice.tracing.storage import StoredRow
from sluice.tracing.trace import PipelineTrace, RecordRows, Trace


def with_rows(project: Project, spark: SparkSession, trace: Trace, limit: int) -> Trace:
    """Return what became of a record with the judgement of all rules, and the rows that it has a part in.

    Args:
        project: specs and places.
        spark: the session.
        trace: what is known without Spark.
        limit: the number of differences of each pipeline that are found.

    Raises:
        NotReadyError: the raw table does not hold the record.
    """
    record = FoundRecord(trace.address, require_stored(trace), trace.fields)
    found = [_traced(project, spark, record, each, limit) for each in trace.pipelines]
    fields = next((fields for _, fields in found if fields), trace.fields)
    return replace(trace, pipelines=tuple(pipeline for pipeline, _ in found), fields=fields)


def require_stored(trace: Trace) -> StoredRow:
    """Return the record as the raw table holds it.

    Raises:
        NotReadyError: it does not.
    """
    if trace.raw.row is None:
        raise NotReadyError(
            f"the raw table does not hold {trace.address} ({trace.raw.why}), and rows are made of what it holds.",
            fix="run it without --rows.",
        )
    return trace.raw.row


def _traced(
    project: Project, spark: SparkSession, record: FoundRecord, known: PipelineTrace, limit: int
) -> tuple[PipelineTrace, Mapping[str, object] | None]:
    spec = project.catalog.pipelines[known.pipeline]
    try:
        code = pipeline_code(project, spark, spec)
        without = _Without(project, spark, code, record, pinned_raw(project, spec))
        judgement, fields = without.judgement(known.judgement)
        traced = trace_of_pipeline(project, spec, record, judgement)
        return replace(traced, rows=without.rows(traced, limit)), fields
    except SluiceError as error:
        return replace(known, notes=(*known.notes, str(error))), None


@dataclass(frozen=True)
class _Without:
    """The rows of a pipeline, with and without one record.

    Attributes:
        project: specs and places.
        spark: the session.
        code: what makes rows of records.
        record: as the raw table holds it.
        raw: the pinned raw tables, by topic, and the settled tables that are read.
    """

    project: Project
    spark: SparkSession
    code: PipelineCode
    record: FoundRecord
    raw: Mapping[str, RawTable]

    @property
    def _positions(self) -> RecordPositions:
        return RecordPositions.of([self.record.place])

    @property
    def _itself(self) -> DataFrame:
        """The record alone, with the columns of `read_stream`."""
        whole = self.raw[self.record.address.topic].rows(self.spark)
        return raw_records(rows_at(whole, self._positions, self.spark))

    def judgement(self, by_times: Judgement) -> tuple[Judgement, Mapping[str, object] | None]:
        """Return what all rules make of the record, and its fields as they are typed; None if it is refused."""
        source = self.code.sources[self.record.address.topic]
        validated = source.validated(self._itself)
        fields = StructType([validated.schema[name] for name in source.value.fields])
        row = validated.select(OUTCOME, REASON, DETAIL, as_json(fields).alias("fields")).first()
        if row is None:
            raise NotReadyError(f"{self.record.address} has gone from the raw table meanwhile.", fix="run it again.")
        outcome, reason = Outcome(row[OUTCOME]), row[REASON] and Reason(row[REASON])
        judged = replace(by_times, outcome=outcome, reason=reason or None, detail=row[DETAIL] or "", whole=True)
        if reason is Reason.UNEXPECTED:
            message = refused({self.record.address.topic: self._itself}, self.code).select("_message").collect()[0][0]
            judged = replace(judged, detail=str(message).removeprefix(f"{reason.meaning}: "))
        read = {name: value for name, value in json.loads(row["fields"]).items() if value is not None}
        return judged, None if judged.is_refused else read

    def rows(self, traced: PipelineTrace, limit: int) -> RecordRows | None:
        """Return the rows that the record has a part in; None if that cannot be said of this kind of output."""
        if self.code.pipeline.has_intervals:
            return self._of_intervals(traced.intervals, limit)
        outputs = self.code.pipeline.every_output
        if len(self.code.sources) > 1 or not any(isinstance(output, RowsOutput) for output in outputs):
            return None
        topic = self.record.address.topic
        made = transformed({topic: good_records(self._itself, self.code.sources[topic])}, self.code)
        shown = made.select(as_json(made.schema).alias("row")).limit(limit + 1).collect()
        return RecordRows(more=len(shown) > limit, alone=tuple(json.loads(row["row"]) for row in shown[:limit]))

    def _of_intervals(self, intervals: Sequence[TracedInterval], limit: int) -> RecordRows:
        taken = [each for each in intervals if each.part is not Part.REFUSED]
        staging = self.project.folder.staging / f"trace-{uuid4().hex[:12]}"
        try:
            found = list(islice(self._differences(taken, staging), limit + 1))
        finally:
            remove_folder(staging)
        codes = {each.row.current.code for each in taken if each.holds and each.row.current}
        return RecordRows(
            differences=tuple(found[:limit]),
            assumed=frozenset(each.interval.start for each in taken if not each.holds),
            more=len(found) > limit,
            other_code=bool(codes - {self.code.code_hash}),
        )

    def _differences(self, intervals: Sequence[TracedInterval], staging: Folder) -> Iterator[RowDifference]:
        """Yield the differences of intervals, those that were made with the same static inputs at once."""
        for number, (digests, group) in enumerate(_by_static(intervals)):
            code = self.code.as_of(digests)
            yield from self._of_group(code, group, staging / str(number))

    def _of_group(
        self, code: PipelineCode, group: Sequence[TracedInterval], staging: Folder
    ) -> Iterator[RowDifference]:
        output, topic = code.pipeline.intervals, self.record.address.topic
        table = OutputTable(self.project.folder.table(output.table), output)
        left_out = {**self.raw, topic: replace(self.raw[topic], left_out=self._positions)}
        ledger = self.project.tables.ledger(code.pipeline.name)
        cut = next((each.interval.start for each in group if not ledger.is_whole(each.interval.start)), None)
        if cut is not None and ledger.whole is not None:
            raise NotReadyError(f"the rows of {cut:%FT%RZ} cannot be made again: it lies {ledger.whole.why}.")
        chain = state_chain(self.project, self.spark, code, ledger)
        sides = []
        for number, raw in enumerate((left_out, self.raw)):
            examiner = ChunkExaminer(self.spark, code, raw, table, staging)
            bounds = {each.interval.start: _bound(each) for each in group}
            continuation = None if chain is None else chain.recorded()
            records = examiner.records_behind([each.row for each in group], bounds, continuation)
            if unread := records.unreadable():
                start, why = min(unread.items())
                raise NotReadyError(f"{start:%FT%RZ} rests on rows that cannot be read any more: {why}.")
            sides.append(examiner.staged(records, bounds, number).rows(self.spark))
        without, with_it = sides
        yield from all_differences(without, with_it.select(without.columns), output, table.column)


def _bound(traced: TracedInterval) -> IntervalBound:
    """Return what is taken of an interval: what readers see is made of; else what would be taken now."""
    written = traced.row.current
    replayed = RecordPositions.joined(() if written is None else written.replayed)
    late = traced.part is Part.LATE or (written is not None and written.late)
    return IntervalBound(written.reach if written is not None and traced.holds else None, late, replayed)


def _by_static(intervals: Sequence[TracedInterval]) -> list[tuple[Mapping[str, str], list[TracedInterval]]]:
    groups: list[tuple[Mapping[str, str], list[TracedInterval]]] = []
    for each in intervals:
        digests = each.row.current.static if each.row.current is not None and each.holds else {}
        known = next((group for other, group in groups if other == digests), None)
        if known is None:
            groups.append((digests, [each]))
        else:
            known.append(each)
    return groups
