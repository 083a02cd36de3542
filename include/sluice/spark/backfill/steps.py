"""One step of a backfill: a chunk is verified, tried, or corrected or recomputed and then gated and published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import or_

from pyspark.sql import DataFrame

from sluice.delta.log import append_entry
from sluice.delta.raw.raw_records import DeltaRawRecords
from sluice.errors import RefusedError, SluiceError
from sluice.gx.gate import run_gate
from sluice.intervals.alignment import contiguous
from sluice.intervals.backfill.backfills import Backfill
from sluice.intervals.backfill.conservation import KafkaRecords, compare_with_kafka
from sluice.intervals.backfill.parity import ParityOutcome, with_samples
from sluice.intervals.backfill.raw_parity import RawParity
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import BackfillEntry, VerifiedEntry
from sluice.intervals.ledger import LedgerRow
from sluice.observability.logs import get_logger
from sluice.project.project import Project
from sluice.quality.gate import GateResult, Override
from sluice.settling.rules import SettlingRules
from sluice.spark.backfill.examination import ChunkExaminer, ExaminedChunk
from sluice.spark.backfill.publishing import Publication
from sluice.spark.backfill.results import ChunkResult, ResultFolder
from sluice.spark.backfill.trial import try_chunk
from sluice.spark.checks.interval_quality import IntervalQuality
from sluice.spark.tables.raw_table import joined_reach
from sluice.spark.tables.records import Records
from sluice.specs.expectations.model import ExpectationsSpec

_PATIENCE_SECONDS = 5.0


def _check_raw(project: Project, examiner: ChunkExaminer, rows: Sequence[LedgerRow], seed: str) -> RawParity | None:
    """Compare the records that some intervals are made of with Kafka; it may be out of reach, which is then said.

    Args:
        project: knows the way to Kafka.
        examiner: has pinned the raw tables.
        rows: the intervals.
        seed: chooses the records whose bytes are compared.
    """
    each = (_check_topic(project, examiner, rows, seed, topic) for topic in examiner.code.sources)
    return RawParity.joined(each)


def _check_topic(
    project: Project, examiner: ChunkExaminer, rows: Sequence[LedgerRow], seed: str, topic: str
) -> RawParity:
    raw, rules = examiner.raw[topic], SettlingRules.of(examiner.code.pipeline, topic)
    times = [rules.read_range(intervals) for intervals in contiguous(row.interval for row in rows)]
    with ExitStack() as opened:

        def kafka() -> KafkaRecords:
            return opened.enter_context(project.kafka.stored_records(topic, patience_seconds=_PATIENCE_SECONDS))

        records = DeltaRawRecords(raw.folder, raw.version)
        return compare_with_kafka(records, kafka, raw.position, times, topic=topic, seed=seed)


log = get_logger()


@dataclass(frozen=True)
class Chunk:
    """Intervals that one commit publishes.

    Attributes:
        number: from 0; the same however often the backfill is resumed.
        rows: the intervals, in order.
    """

    number: int
    rows: tuple[LedgerRow, ...]


@dataclass(frozen=True)
class Gate:
    """What rows have to pass before they are published.

    Attributes:
        suite: what must hold; None where nothing is declared.
        intervals: judges what must hold of each interval.
        override: whose word lets pass what would stop.
    """

    suite: ExpectationsSpec | None
    intervals: IntervalQuality
    override: Override | None = None

    def with_static(self, static: Mapping[str, DataFrame]) -> Gate:
        """Return the gate with other static inputs to look values up in."""
        references = replace(self.intervals.references, static=static)
        return replace(self, intervals=replace(self.intervals, references=references))

    def check(self, rows: DataFrame, starts: Sequence[datetime], records: Records, *, input_records: int) -> GateResult:
        """Judge the rows of some intervals.

        Args:
            rows: of these intervals, with the columns of the output table.
            starts: of the intervals (UTC).
            records: the records behind them.
            input_records: how many records could have made rows.
        """
        return run_gate(
            rows,
            self.suite,
            input_records=input_records,
            of_intervals=lambda cached: self.intervals.judge(cached, starts, records),
            override=self.override,
        )


@dataclass(frozen=True)
class Steps:
    """Takes the steps of one backfill.

    Attributes:
        project: specs and places.
        examiner: what chunks are examined with.
        backfill: on whose behalf.
        results: where what is found is kept.
        gate: what rows have to pass; None where nothing is published.
        as_of: the table version that the ledger was taken from.
    """

    project: Project
    examiner: ChunkExaminer
    backfill: Backfill
    results: ResultFolder
    gate: Gate | None
    as_of: int

    def take(self, mode: Mode, chunk: Chunk) -> ChunkResult:
        """Take a step, and return what was found.

        Raises:
            RefusedError: another writer wrote one of the intervals meanwhile, or the snapshot of a static input is
                gone; nothing was changed.
            CorruptionError: the table's log does not say what it should.
        """
        if mode is Mode.TRY:
            return self._try(chunk)
        if mode is Mode.VERIFY:
            examined, raw = self._examined_with_raw(chunk)
            result = self._verify(chunk, examined, raw)
        else:
            examined = self.examiner.examine(mode, chunk.rows, chunk.number)
            result = self._replace(mode, chunk, examined)
        if result.gate is None or result.gate.passed:
            examined.stage.remove()
        return result

    def of(self, chunk: Chunk) -> Steps:
        """Return the steps with the static inputs that a chunk is computed with: all its intervals have the same.

        Raises:
            RefusedError: a snapshot is gone.
        """
        examiner, gate = self.examiner, self.gate
        code = examiner.code.as_of(self.backfill.request.static_of(chunk.rows[0]))
        if code is examiner.code:
            return self
        return replace(self, examiner=replace(examiner, code=code), gate=gate and gate.with_static(code.static))

    def _try(self, chunk: Chunk) -> ChunkResult:
        tried = try_chunk(self.examiner, chunk.rows, chunk.number)
        counted = any(parity.counts.differences for parity in tried.parities)
        samples = self.results.store_differences(chunk.number, tried.differences() if counted else ())
        parities = tuple(with_samples(parity, samples) for parity in tried.parities)
        result = ChunkResult(parities, columns=tried.columns, code=self.examiner.code.code_hash)
        self.results.store(chunk.number, result)
        tried.stage.remove()
        return result

    def _examined_with_raw(self, chunk: Chunk) -> tuple[ExaminedChunk, RawParity | None]:
        """Examine a chunk; meanwhile a thread compares the raw table with Kafka, and waits for that, not for Spark."""
        with ThreadPoolExecutor(1, thread_name_prefix="raw-check") as beside:
            raw = beside.submit(_check_raw, self.project, self.examiner, chunk.rows, self.backfill.id)
            examined = self.examiner.examine(Mode.VERIFY, chunk.rows, chunk.number)
            return examined, raw.result()

    def _verify(self, chunk: Chunk, examined: ExaminedChunk, raw: RawParity | None) -> ChunkResult:
        result = ChunkResult(examined.parities, raw=raw, cross_check=examined.cross_check)
        if self.backfill.request.mode is Mode.VERIFY:
            self.results.store(chunk.number, result)
        if result.passes:
            intervals = tuple(row.interval.start for row in chunk.rows)
            code = self.examiner.code.code_hash
            append_entry(self.examiner.table.folder, VerifiedEntry(self.backfill.id, intervals, code, self.as_of))
            self._index()
        return result

    def _replace(self, mode: Mode, chunk: Chunk, examined: ExaminedChunk) -> ChunkResult:
        wanted = {Mode.CORRECT: ParityOutcome.EXPLAINED, Mode.RECOMPUTE: ParityOutcome.RECOMPUTED}[mode]
        starts = tuple(parity.interval.start for parity in examined.parities if parity.outcome is wanted)
        result = ChunkResult(examined.parities)
        if starts and result.passes and self.gate is not None:
            result = ChunkResult(examined.parities, self._check(self.gate, mode, chunk, examined, starts), starts)
        self.results.store(chunk.number, result)
        if result.published:
            self._publish(mode, chunk, examined, result)
            self._store_quality(examined, result)
        return result

    def _check(
        self, gate: Gate, mode: Mode, chunk: Chunk, examined: ExaminedChunk, starts: tuple[datetime, ...]
    ) -> GateResult:
        examiner = self.examiner
        records = examiner.records(
            {r.interval.start: examiner.bound(mode, r) for r in chunk.rows if r.interval.start in starts}
        )
        # Without rows it matters whether there were records that could have made some; else their order of size does.
        empty = not any(examined.computed[start].rows for start in starts)
        rows = examined.stage.rows(examiner.spark).where(examiner.table.condition(starts))
        input_records = records.count_good() if empty else records.count()
        return gate.check(rows, starts, records, input_records=input_records)

    def _store_quality(self, examined: ExaminedChunk, result: ChunkResult) -> None:
        """Put what the gate found of each interval on record; a check of the published table can also find it."""
        if self.gate is None or result.gate is None:
            return
        try:
            self.gate.intervals.keep(result.gate.intervals, examined.computed, by=self.backfill.id)
        except SluiceError as error:
            log.warning("the record of the intervals' quality is behind", why=str(error))

    def _publish(self, mode: Mode, chunk: Chunk, examined: ExaminedChunk, result: ChunkResult) -> None:
        examiner, request, starts = self.examiner, self.backfill.request, result.published
        rows = [row for row in chunk.rows if row.interval.start in starts]
        reach = joined_reach(examiner.raw)
        again = reduce(or_, (examiner.bound(mode, row).replayed for row in rows))
        entry = BackfillEntry(
            backfill=self.backfill.id,
            mode="correct" if mode is Mode.CORRECT else "recompute",
            by=request.by,
            why=request.why,
            raw=reach.offsets,
            late={start: examined.late[start] for start in starts},
            content={start: examined.computed[start] for start in starts},
            code=examiner.code.code_hash,
            gate=_in_one_line(result.gate) if result.gate else "",
            topics=reach.topics,
            replayed=tuple(again.pieces()),
            static=dict(examiner.code.digests),
            carried={start: examined.carried[start] for start in starts if start in examined.carried},
        )
        publication = Publication(
            examiner.table,
            entry,
            chunk.number,
            examined.files(starts),
            still_ours=lambda: self._refuse_other_owner(rows),
        )
        version = publication.publish(examined.stage.of_intervals(starts))
        log.info("published", backfill=self.backfill.id, intervals=len(starts), version=version)
        self._index()

    def _refuse_other_owner(self, rows: list[LedgerRow]) -> None:
        now = self.project.tables.ledger(self.examiner.code.pipeline.name).rows
        for row in rows:
            latest = now.get(row.interval.start, LedgerRow(row.interval))
            # What an interval inherits from those before it changes while a backfill computes these again.
            if (latest.base, latest.current, latest.marks) != (row.base, row.current, row.marks):
                owner = latest.current.owner if latest.current else "no writer"
                raise RefusedError(
                    f"the interval {row.interval.start:%FT%RZ} is not what it was when it was chosen: it belongs to "
                    f"{owner} now{', and is dirty' if latest.marks else ''}. Nothing was changed.",
                    fix="see `sluice intervals show`, then run the backfill again.",
                )

    def _index(self) -> None:
        """Tell the control database, which can also learn it later."""
        try:
            self.project.tables.index().refresh(self.examiner.code.pipeline.name)
        except SluiceError as error:
            log.warning("the ledger's index is behind", why=str(error))


def _in_one_line(gate: GateResult) -> str:
    held = f"{gate.expectations_passed} of {gate.expectations} expectations hold"
    word = f", {gate.override.by} accepts the rest: {gate.override.why}" if gate.override and gate.overridden else ""
    return f"{gate.suite or 'no suite'}: {held}, {'passed' if gate.passed else 'failed'}{word}"
