"""A trial of a chunk: what the code on disk makes of the records behind the published rows, beside those rows.

It is a shadow: the table, its columns and its log stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql.types import StructType

from sluice.delta.table import column_changes
from sluice.errors import RefusedError
from sluice.intervals.backfill.parity import Counts, IntervalParity, judge_interval
from sluice.intervals.backfill.request import Mode
from sluice.intervals.backfill.trial import ColumnChanges, RowDifference
from sluice.intervals.entries import NO_ROWS
from sluice.intervals.ledger import LedgerRow
from sluice.spark.backfill.comparison import IntervalComparison, all_differences, compare
from sluice.spark.backfill.examination import ChunkExaminer, unrecorded_change
from sluice.spark.backfill.staging import Stage
from sluice.spark.backfill.state_chain import with_states
from sluice.spark.records.content import content_of, named
from sluice.spark.tables.continuation import Continuation
from sluice.specs.model.outputs import IntervalsOutput


@dataclass(frozen=True)
class TriedChunk:
    """A chunk that was tried.

    Attributes:
        parities: of its intervals, in order; their counts have no samples.
        columns: how the columns differ.
        differences: finds every difference of the rows, in order; only while the stage is there.
        stage: the computed rows.
    """

    parities: tuple[IntervalParity, ...]
    columns: ColumnChanges
    differences: Callable[[], Iterator[RowDifference]]
    stage: Stage


def try_chunk(examiner: ChunkExaminer, chunk: Sequence[LedgerRow], number: int) -> TriedChunk:
    """Compute a chunk and compare it with what readers see, by the columns that both have.

    Args:
        examiner: what chunks are examined with.
        chunk: intervals that were written and are not dirty, in order.
        number: of the chunk.

    Raises:
        RefusedError: the code partitions its rows otherwise than the table, or what they were made of is gone.
    """
    table, spark, version = examiner.table, examiner.spark, examiner.table.version()
    starts = [row.interval.start for row in chunk]
    bounds = {r.interval.start: examiner.bound(Mode.TRY, r) for r in chunk}
    continuation = None if examiner.chain is None else examiner.chain.of(Mode.TRY)
    records = examiner.records_behind(chunk, bounds, continuation)
    if unread := records.unreadable():
        start, why = min(unread.items())
        raise RefusedError(f"{start:%FT%RZ} rests on rows that cannot be read any more: {why}.", fix="recompute it.")
    schema = records.schema
    columns = column_changes(table.folder, schema.json(), partition_by=[table.column])
    stage = examiner.staged(records, starts, number)
    held = table.rows(spark, starts, version)
    common = [name for name in held.columns if name in _comparable(held.schema, schema)]
    old, new = (frame.select(*map(named, common)) for frame in (held, stage.rows(spark)))
    output = _matched_by(common, table.output)
    published = content_of(held, table.column)
    compared = compare(old, new, output, table.column, sampled=False)
    parities = tuple(
        judge_interval(
            Mode.TRY,
            row.interval,
            _counts(row, compared, continuation),
            unrecorded_change(row.current, published.get(row.interval.start, NO_ROWS)),
        )
        for row in chunk
    )
    return TriedChunk(parities, columns, lambda: all_differences(old, new, output, table.column), stage)


def _counts(
    row: LedgerRow, compared: Mapping[datetime, IntervalComparison], continuation: Continuation | None
) -> Counts:
    start = row.interval.start
    counts = compared.get(start, IntervalComparison()).counts
    return counts if continuation is None else with_states(counts, row.carried, continuation.carried.get(start))


def _comparable(held: StructType, computed: StructType) -> set[str]:
    """Return the columns of one type on both sides, nullable or not."""
    types = {field.name: field.dataType for field in computed}
    return {f.name for f in held if f.name in types and f.dataType.json() == types[f.name].json()}


def _matched_by(columns: Sequence[str], output: IntervalsOutput) -> IntervalsOutput:
    """Return the declaration without keys if one of the columns that rows are matched by is not on both sides."""
    if {output.time_column, *output.keys} <= set(columns):
        return output
    return output.model_copy(update={"keys": ()})
