"""Checking a chunk: compute it, stage it, compare it with the table, and judge every interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from sluice.errors import RefusedError
from sluice.failpoints import failpoint
from sluice.intervals.alignment import Interval, intervals_between
from sluice.intervals.backfill.bounds import IntervalBound, bound_of, with_common_reach
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.intervals.backfill.parity import UNEXPLAINED, Counts, IntervalParity, ParityOutcome, judge_interval
from sluice.intervals.backfill.request import Mode
from sluice.intervals.carried import Carried
from sluice.intervals.entries import NO_ROWS, Content
from sluice.intervals.ledger import LedgerRow, Written
from sluice.intervals.record_positions import RecordPositions
from sluice.settling.rules import SettlingRules
from sluice.spark.backfill.comparison import IntervalComparison, compare
from sluice.spark.backfill.convicting import convict
from sluice.spark.backfill.rewritten import rewritten
from sluice.spark.backfill.staging import Stage
from sluice.spark.backfill.state_chain import StateChain, with_states
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.records.transforms import SelectTransform
from sluice.spark.tables.continuation import Continuation
from sluice.spark.tables.output import OutputTable, by_version
from sluice.spark.tables.raw_table import RawTable
from sluice.spark.tables.records import Records
from sluice.spark.tables.source_records import AS_DECLARED, Variation
from sluice.specs.model.outputs import IntervalsOutput
from sluice.storage.folder import Folder


@dataclass(frozen=True)
class ExaminedChunk:
    """A chunk that was checked.

    Attributes:
        parities: of its intervals, in order.
        computed: what was computed for each interval that could be compared, by its start.
        late: whether late records are in it, likewise.
        files: what the table's intervals consisted of when they were checked.
        stage: the computed rows.
        cross_check: what DuckDB says of them; None unless it was asked.
        carried: the states that the intervals continued and left, by their starts, where they hand on something.
    """

    parities: tuple[IntervalParity, ...]
    computed: Mapping[datetime, Content]
    late: Mapping[datetime, bool]
    files: Callable[[Sequence[datetime]], frozenset[str]]
    stage: Stage
    cross_check: CrossCheck | None = None
    carried: Mapping[datetime, Carried] = field(default_factory=dict)


@dataclass(frozen=True)
class ChunkExaminer:
    """What chunks are examined with.

    Attributes:
        spark: the session.
        code: what makes rows of records.
        raw: the pinned raw tables, by topic, and the settled tables that are read.
        table: the published table.
        staging: the folder for stages.
        replays: records that did not decode when they came, and are read again.
        chain: the states that intervals hand on; None where they hand on nothing.
    """

    spark: SparkSession
    code: PipelineCode
    raw: Mapping[str, RawTable]
    table: OutputTable
    staging: Folder
    replays: RecordPositions = field(default_factory=RecordPositions)
    chain: StateChain | None = None

    def bound(self, mode: Mode, row: LedgerRow) -> IntervalBound:
        """Return what is taken of an interval."""
        return bound_of(mode, row, self.replays)

    def records(self, bounds: Mapping[datetime, IntervalBound], continuation: Continuation | None = None) -> Records:
        """Return the records behind intervals."""
        return Records(self.spark, self.raw, self.code, bounds, continuation)

    def records_behind(
        self,
        chunk: Sequence[LedgerRow],
        bounds: Mapping[datetime, IntervalBound],
        continuation: Continuation | None = None,
    ) -> Records:
        """Return the records behind intervals of a chunk, for as few computations as give their rows."""
        if continuation is not None:
            return self.records(bounds, continuation)
        records = self.records(bounds)
        joins = records.is_joined and not self._output.called_per_interval
        return self.records(with_common_reach(bounds, _settled(chunk))) if joins else records

    def examine(self, mode: Mode, chunk: Sequence[LedgerRow], number: int) -> ExaminedChunk:
        """Compute a chunk and compare it.

        Args:
            mode: `verify` compares with the base that the ledger names, the others with what the table holds now.
            chunk: intervals in order.
            number: of the chunk.

        Raises:
            RefusedError: the table cannot take what the code makes; nothing was changed.
        """
        version = self.table.version()
        versions = {row.interval.start: _version_of(mode, row, version) for row in chunk}
        gone = self.table.unreadable({start: v for start, v in versions.items() if v != version})
        gone |= self._unread([row for row in chunk if row.interval.start not in gone], mode)
        compared_with = {start: v for start, v in versions.items() if start not in gone}
        bounds = {r.interval.start: self.bound(mode, r) for r in chunk if r.interval.start in compared_with}
        continuation = None if self.chain is None else self.chain.of(mode)
        records = self.records_behind(chunk, bounds, continuation)
        if mode is not Mode.VERIFY:  # what other code has written is stale, and not verified
            self.table.fit(records.schema)
        stage, found = self._compare(records, self._variation(mode), compared_with, number)
        late = self._late(mode, chunk, records)
        carried = None if continuation is None else dict(continuation.carried)
        parities, cross_check = tuple(_judge(mode, r, found, late, gone, carried=carried) for r in chunk), None
        if mode is Mode.VERIFY:
            parities, cross_check = self._cross_checked(tuple(self._convicted(parities, bounds)), records, stage)
        return ExaminedChunk(
            parities=parities,
            computed={start: found[start].computed if start in found else NO_ROWS for start in bounds},
            late={start: bound.late for start, bound in bounds.items()},
            files=lambda starts: self.table.files(starts, version),
            stage=stage,
            cross_check=cross_check,
            carried=carried or {},
        )

    def _late(self, mode: Mode, chunk: Sequence[LedgerRow], records: Records) -> Mapping[datetime, int]:
        """Return how much came too late for each interval: records, and intervals of settled tables."""
        if mode is Mode.RECOMPUTE:  # it explains nothing
            return {}
        again = rewritten(self.code, self.raw, chunk) if mode is Mode.CORRECT else Counter[datetime]()
        return Counter(records.count_late()) + again

    def _unread(self, chunk: Sequence[LedgerRow], mode: Mode) -> dict[datetime, str]:
        """Return which intervals are made of rows that a settled table does not have any more, with the reason."""
        bounds = {row.interval.start: self.bound(mode, row) for row in chunk} if self.code.tables else {}
        return self.records_behind(chunk, bounds).unreadable() if bounds else {}

    def _cross_checked(
        self, parities: tuple[IntervalParity, ...], records: Records, stage: Stage
    ) -> tuple[tuple[IntervalParity, ...], CrossCheck | None]:
        """Ask DuckDB about some intervals that agree, if the transform is a SELECT."""
        transform, pipeline = self.code.transform, self.code.pipeline
        if not isinstance(transform, SelectTransform) or pipeline.backfill.cross_check == "none":
            return parities, None
        from sluice.spark.backfill.duckdb_check import DuckDBCheck  # noqa: PLC0415 - a function waits for no SQL

        agree = [p.interval for p in parities if p.outcome is ParityOutcome.IDENTICAL and p.counts.identical]
        duckdb = DuckDBCheck(transform, self.code.static, self._output)
        checked, found = duckdb.compare(agree, records.good_behind, partial(self._staged_rows, stage))
        judged = (
            replace(p, outcome=ParityOutcome.DIFFERENT, why=found[p.interval]) if p.interval in found else p
            for p in parities
        )
        return tuple(judged), checked

    def _staged_rows(self, stage: Stage, intervals: Sequence[Interval]) -> DataFrame:
        return stage.rows(self.spark).where(self.table.condition([interval.start for interval in intervals]))

    @property
    def _output(self) -> IntervalsOutput:
        return self.code.pipeline.intervals

    @staticmethod
    def _variation(mode: Mode) -> Variation:
        """Return how records are read: to verify what the same code has settled, in any way but the settler's."""
        return Variation(breadth=2, shuffled=True) if mode is Mode.VERIFY else AS_DECLARED

    def _convicted(
        self, parities: Sequence[IntervalParity], bounds: Mapping[datetime, IntervalBound]
    ) -> Iterator[IntervalParity]:
        """Say of the first interval that differs what the transform does wrong, if trying it out tells."""
        first = next((parity for parity in parities if parity.why == UNEXPLAINED), None)
        for parity in parities:
            if parity is first:
                alone = partial(self._alone, bounds[parity.interval.start])
                found = convict(alone, parity.interval, self._output, SettlingRules.of(self.code.pipeline))
                yield parity if found is None else replace(parity, why=found.sentence)
            else:
                yield parity

    def _alone(self, bound: IntervalBound, intervals: Interval, variation: Variation) -> DataFrame:
        length = self._output.interval_length
        starts = [interval.start for interval in intervals_between(intervals.start, intervals.end, length)]
        continuation = None if self.chain is None else self.chain.recorded()
        return self.records(dict.fromkeys(starts, bound), continuation).result(variation)

    def _compare(
        self, records: Records, variation: Variation, versions: Mapping[datetime, int], number: int
    ) -> tuple[Stage, dict[datetime, IntervalComparison]]:
        stage = self.staged(records, versions, number, variation)
        failpoint("after_stage", self.table.folder.name)
        if any(self.table.files(starts, version) for version, starts in by_version(versions).items()):
            held = self.table.rows_at(self.spark, versions)
            compared = compare(held, stage.rows(self.spark), self.table.output, self.table.column)
        else:
            content = stage.content(self.spark).items()
            compared = {start: IntervalComparison(computed=c, counts=Counts(missing=c.rows)) for start, c in content}
        return stage, compared

    def staged(
        self, records: Records, starts: Iterable[datetime], number: int, variation: Variation = AS_DECLARED
    ) -> Stage:
        """Compute the rows of intervals from as far back as they reach, and stage them.

        Args:
            records: behind the intervals.
            starts: of the intervals (UTC).
            number: of their chunk.
            variation: how the records are read.
        """
        folder, condition = self.staging / str(number), self.table.condition(starts)
        while True:
            results = records.results(variation)
            stage = Stage.write(results, lambda: records.schema, folder, condition, self.table.column)
            if self._output.since_column is None or stage.rows(self.spark).where(records.cut_off(variation)).isEmpty():
                self._refuse_beside_floor(records, stage)
                return stage
            variation = replace(variation, breadth=2 * variation.breadth)

    def _refuse_beside_floor(self, records: Records, stage: Stage) -> None:
        """Refuse rows of which a part may have been removed; see `SettlingRules.sessions`."""
        beside = records.beside_floor(self.raw)
        if beside is not None and not stage.rows(self.spark).where(beside).isEmpty():
            raise RefusedError(
                f"{self.table.folder.name} has rows here that began close to the floor of raw retention or before it, "
                "so records of them may have been removed. Nothing was changed.",
                fix="choose a range that begins later.",
            )


def _settled(chunk: Sequence[LedgerRow]) -> set[datetime]:
    """Return the intervals without a mark that a stream wrote."""
    return {row.interval.start for row in chunk if not row.dirty and row.base and row.base.generation is not None}


def _version_of(mode: Mode, row: LedgerRow, newest: int) -> int:
    """Return the table version to compare with: of a base that was corrected since, the one that completed it."""
    if mode is Mode.VERIFY and row.base is not None and row.base != row.current:
        return row.base.version
    return newest


def _judge(
    mode: Mode,
    row: LedgerRow,
    found: Mapping[datetime, IntervalComparison],
    late: Mapping[datetime, int],
    gone: Mapping[datetime, str],
    *,
    carried: Mapping[datetime, Carried] | None = None,
) -> IntervalParity:
    """Judge an interval of a chunk; `carried` are the states that were computed, where intervals hand on something."""
    start = row.interval.start
    if start in gone:
        return IntervalParity(row.interval, ParityOutcome.INCONCLUSIVE, why=gone[start])
    compared, written = found.get(start, IntervalComparison()), row.base if mode is Mode.VERIFY else row.current
    counts = replace(compared.counts, late=late.get(start, 0))
    changed, others = unrecorded_change(written, compared.table), False
    if carried is not None:
        was, now = None if written is None else written.carried, carried.get(start)
        counts = with_states(counts, was, now)
        others = was is not None and now is not None and was.before != now.before
    if mode is Mode.RECOMPUTE:  # it is the repair of whatever happened; a dirty interval may hold anything
        return replace(judge_interval(mode, row.interval, counts), why="" if row.dirty else changed)
    return judge_interval(mode, row.interval, counts, changed, continues_corrected=others)


def unrecorded_change(written: Written | None, held: Content) -> str:
    """Return how what the table holds differs from what the ledger recorded; empty if it does not."""
    recorded = written.content if written else NO_ROWS
    if held == recorded:
        return ""
    who = f"{written.owner} wrote in version {written.version}" if written else "the ledger records"
    rows = (
        f"{held.rows} rows, not the {recorded.rows}"
        if held.rows != recorded.rows
        else f"other rows than the {held.rows}"
    )
    return f"something else changed it: the table holds {rows} that {who}"
