"""A backfill from its claim to its reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_

from pyspark.sql import SparkSession

from sluice.clock import Clock, SystemClock
from sluice.errors import NotReadyError, RefusedError, SluiceError
from sluice.intervals.backfill.acceptance import GATE_FAILED
from sluice.intervals.backfill.backfills import Backfill, Backfills, BackfillState
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.intervals.backfill.parity import ParityReport
from sluice.intervals.backfill.raw_parity import RawParity
from sluice.intervals.backfill.request import Mode, Request, StaticChoice
from sluice.intervals.backfill.selection import NOT_CHECKED, Selection, select
from sluice.intervals.backfill.trial import NO_COLUMN_CHANGES
from sluice.intervals.ledger import Ledger, LedgerRow
from sluice.intervals.record_positions import RecordPositions
from sluice.launch.backfill_claim import claimed
from sluice.lineage.results import BackfillEnd
from sluice.observability.logs import get_logger
from sluice.project.lineage import BatchLineage, batch_lineage
from sluice.project.project import Project
from sluice.quality.gate import Override
from sluice.spark.backfill.examination import ChunkExaminer
from sluice.spark.backfill.publishing import chunks_published
from sluice.spark.backfill.results import CANCELLED, FAILED, ChunkResult, Result, ResultFolder
from sluice.spark.backfill.state_chain import state_chain
from sluice.spark.backfill.steps import Chunk, Gate, Steps
from sluice.spark.checks.interval_quality import interval_quality
from sluice.spark.checks.quarantine import Quarantine, pinned_raw
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.session.batch_session import SESSION, jvm_watched
from sluice.spark.tables.output import OutputTable
from sluice.spark.tables.raw_table import RawTable
from sluice.storage.folder import Folder

log = get_logger()

_UNFINISHED = f"{NOT_CHECKED}: the backfill ended before, or had published its part of the range earlier"


def run_backfill(
    project: Project,
    spark: SparkSession,
    code: PipelineCode,
    request: Request,
    *,
    key: str,
    clock: Clock | None = None,
    submitted: bool = False,
) -> Result:
    """Claim the range, do what is asked, and leave the reports in the backfill's folder.

    Args:
        project: specs and places.
        spark: the session.
        code: today's, of the request's pipeline.
        request: what is asked.
        key: names the asking: the same key resumes what a crash left.
        clock: injected by tests.
        submitted: it was put on record as SUBMITTED before this process started.

    Raises:
        OverlapError: another backfill works on a part of the range.
        SluiceError: it could not be done; the message says why, and what was published until then is on record.
    """
    clock = clock or SystemClock()
    code = code.newest() if request.static is StaticChoice.NEWEST else code  # it may have been made long ago
    backfills = project.records.backfills()
    with (
        batch_lineage(project, request.pipeline) as lineage,
        claimed(backfills, project.folder.backfills, request, key, clock, submitted=submitted) as backfill,
    ):
        lineage.backfill_started(backfill)
        results = ResultFolder(project.folder.backfill(backfill.id))
        return _recorded(_Run(project, spark, code, backfills, backfill, results, clock), request, lineage)


def _recorded(run: _Run, request: Request, lineage: BatchLineage) -> Result:
    """Run a claimed backfill, and put on record how it ended."""
    backfill, backfills = run.backfill, run.backfills
    where = run.spark.conf.get(SESSION, "")  # now: a dead JVM cannot be asked
    try:
        with jvm_watched():
            result = run.run()
        run.results.report(result, _facts(request, result, where))
    except BaseException as error:
        result = run.failed(str(error) if isinstance(error, SluiceError) else f"{type(error).__name__}: {error}")
        lineage.backfill_ended(backfill, _ended(result, run.clock))
        try:
            run.results.report(result, _facts(request, result, where))
        finally:
            backfills.end(backfill.id, BackfillState.FAILED, outcome=FAILED, why=result.why)
        raise
    backfills.end(backfill.id, _state(result), outcome=result.outcome, why=result.why)
    lineage.backfill_ended(backfill, _ended(result, run.clock))
    return result


@dataclass
class _Run:
    project: Project
    spark: SparkSession
    code: PipelineCode
    backfills: Backfills
    backfill: Backfill
    results: ResultFolder
    clock: Clock
    selection: Selection | None = None
    done: dict[int, ChunkResult] = field(default_factory=dict)
    """By chunk, of this process and those before it."""

    def run(self) -> Result:
        """Do what is not done yet."""
        pipeline, request = self.code.pipeline, self.backfill.request
        ledger = self.project.tables.ledger(pipeline.name)
        length, code = pipeline.intervals.interval_length, self.code.code_hash
        self.selection = selection = select(request, ledger, length, code, self.backfill.id)
        # Where static inputs change, chunks are cut by them, too: each is numbered by its first interval then.
        numbered = pipeline.backfill.chunk if self.code.changing is None else length
        chunks = [
            Chunk(selection.chunk_number(rows[0], numbered), rows) for rows in selection.chunks(pipeline.backfill.chunk)
        ]
        found = self.done
        found.update(self._done(chunks))
        todo = [chunk for chunk in chunks if chunk.number not in found]
        finished = sum(len(result.parities) for result in found.values())
        plan = list(self._plan(todo))
        total = finished + sum(len(chunk.rows) for _, chunk in plan)
        log.info("backfill starts", backfill=self.backfill.id, intervals=len(selection.taken), chunks=len(chunks))
        self.backfills.advance(self.backfill.id, done=finished, total=total)
        if not todo:
            return self._result(selection, found)
        gate = self._gate(ledger) if request.mode.publishes else None
        steps = Steps(self.project, self._workbench(ledger), self.backfill, self.results, gate, ledger.version)
        for mode, chunk in plan:
            if asker := self.backfills.get(self.backfill.id).cancel_requested_by:
                return self._result(selection, found, cancelled_by=asker)
            found[chunk.number] = result = steps.of(chunk).take(mode, chunk)
            if request.mode.publishes and not result.passes:
                break
            finished += len(chunk.rows)
            self.backfills.advance(self.backfill.id, done=finished, total=total)
        return self._result(selection, found)

    def failed(self, why: str) -> Result:
        """Return how it ends that could not go on: with what was found and published until then."""
        if self.selection is None:
            return Result(self.backfill.id, FAILED, why)
        return replace(self._result(self.selection, self.done), outcome=FAILED, why=why)

    def _gate(self, ledger: Ledger) -> Gate:
        suite = self.project.catalog.gate_of(self.code.pipeline.name)
        quality = interval_quality(self.project, self.spark, self.code, ledger, suite)
        return Gate(suite, quality, self._override())

    def _override(self) -> Override | None:
        """Return the word on which what another backfill's gate had found is published.

        Raises:
            RefusedError: what it had found is not there any more.
        """
        request = self.backfill.request
        if not request.accepts:
            return None
        results = ResultFolder(self.project.folder.backfill(request.accepts)).chunks().values()
        found = tuple(name for chunk in results if chunk.gate is not None for name in chunk.gate.found)
        if not found:
            raise RefusedError(
                f"nothing is left of what the gate of {request.accepts} had found that could be accepted: its evidence "
                "is gone, or it could not be evaluated, and a result that no user has seen cannot be accepted.",
                fix="run the backfill again; if it fails again, accept that.",
            )
        return Override(request.by, request.why, request.accepts, tuple(dict.fromkeys(found)))

    def _plan(self, todo: list[Chunk]) -> Iterator[tuple[Mode, Chunk]]:
        """Yield the steps in order: a correction first has all its chunks verified."""
        mode = self.backfill.request.mode
        if mode is Mode.CORRECT:
            for chunk in todo:
                if unverified := tuple(row for row in chunk.rows if not row.verified_by(self.code.code_hash)):
                    yield Mode.VERIFY, Chunk(chunk.number, unverified)
        yield from ((mode, chunk) for chunk in todo)

    def _done(self, chunks: list[Chunk]) -> Iterator[tuple[int, ChunkResult]]:
        """Yield the chunks that an earlier process of this backfill has finished, with what it found."""
        results = self.results.chunks()
        if self.backfill.request.mode is Mode.VERIFY:
            rows = {chunk.number: chunk.rows for chunk in chunks}
            finished = {n for n in results if n in rows and all(self._verified_here(row) for row in rows[n])}
        elif self.backfill.request.mode is Mode.TRY:
            # What one chunk leaves for the next is nowhere on record: a chain is tried from its beginning.
            same = {n for n, result in results.items() if result.code == self.code.code_hash}
            finished = set[int]() if self.code.carries else same
        else:
            finished = chunks_published(self._folder, self.backfill.id, results) if results else set()
        yield from ((number, results[number]) for number in sorted(finished))

    def _verified_here(self, row: LedgerRow) -> bool:
        return (
            row.verified_by(self.code.code_hash)
            and row.verified is not None
            and row.verified.backfill == self.backfill.id
        )

    @property
    def _folder(self) -> Folder:
        return self.project.folder.table(self.code.pipeline.intervals.table)

    def _workbench(self, ledger: Ledger) -> ChunkExaminer:
        raw = pinned_raw(self.project, self.code.pipeline)
        self._refuse_other_floor(ledger, raw)
        table = OutputTable(self._folder, self.code.pipeline.intervals)
        staging = self.project.folder.staging / self.backfill.id
        chain = state_chain(self.project, self.spark, self.code, ledger)
        return ChunkExaminer(self.spark, self.code, raw, table, staging, self._replays(raw), chain)

    def _refuse_other_floor(self, ledger: Ledger, raw: Mapping[str, RawTable]) -> None:
        """Make sure that no record was removed since the intervals were chosen.

        Raises:
            NotReadyError: the floor of a raw table was raised meanwhile.
        """
        now = self.project.tables.whole(self.code.pipeline.name, {name: table.floor for name, table in raw.items()})
        if now is not None and (ledger.whole is None or now.start > ledger.whole.start):
            raise NotReadyError(f"{now.table} was shortened meanwhile: {now.why}.", fix="run the backfill again.")

    def _replays(self, raw: Mapping[str, RawTable]) -> RecordPositions:
        """Return those records of the case to replay that no interval finds by their time."""
        case_id = self.backfill.request.replays
        if not case_id:
            return RecordPositions()
        positions = self.project.records.cases().get(case_id).positions
        each = (
            Quarantine(self.spark, raw[topic], source, self.code.pipeline).outside_their_interval(positions)
            for topic, source in self.code.sources.items()
        )
        return reduce(or_, each)

    def _result(self, selection: Selection, found: Mapping[int, ChunkResult], *, cancelled_by: str = "") -> Result:
        results = [found[number] for number in sorted(found)]
        report = self._report(selection, results)
        gates = [chunk.gate for chunk in results if chunk.gate is not None]
        outcome, why = str(report.outcome), report.why
        if cancelled_by:
            outcome, why = CANCELLED, f"{cancelled_by} requested its end; what was published until then stays."
        elif gates and not gates[-1].passed:
            outcome, why = GATE_FAILED, f"the quality gate failed: {'; '.join(gates[-1].failures)}"
        published = tuple(start for chunk in results for start in chunk.published)
        return Result(self.backfill.id, outcome, why, published, report, gates[-1] if gates else None)

    def _report(self, selection: Selection, results: list[ChunkResult]) -> ParityReport:
        parities = tuple(parity for chunk in results for parity in chunk.parities)
        reported = {parity.interval for parity in parities}
        unfinished = {row.interval: _UNFINISHED for row in selection.taken}
        left = {i: why for i, why in {**selection.left, **unfinished}.items() if i not in reported}
        request = self.backfill.request
        return ParityReport(
            backfill=self.backfill.id,
            pipeline=request.pipeline,
            mode=request.mode,
            range=request.range,
            code=self.code.code_hash,
            at=self.clock.now(),
            intervals=parities,
            left=dict(sorted(left.items())),
            columns=next((chunk.columns for chunk in results if chunk.columns), NO_COLUMN_CHANGES),
            raw=RawParity.joined(chunk.raw for chunk in results if chunk.raw is not None),
            cross_check=CrossCheck.joined(chunk.cross_check for chunk in results if chunk.cross_check is not None),
        )


def _state(result: Result) -> BackfillState:
    if result.outcome == CANCELLED:
        return BackfillState.CANCELLED
    return BackfillState.DONE if result.passed else BackfillState.FAILED


def _ended(result: Result, clock: Clock) -> BackfillEnd:
    why = result.why if result.outcome in (FAILED, CANCELLED) else ""  # else it quotes rows
    return BackfillEnd(clock.now(), result.passed, result.outcome, why, result.outcome == CANCELLED, result.gate)


def _facts(request: Request, result: Result, where: str | None) -> dict[str, str]:
    return {
        "Range": f"{request.range.start:%Y-%m-%d %H:%M} to {request.range.end:%Y-%m-%d %H:%M} UTC",
        "Requested by": request.by,
        **({"Reason": request.why} if request.why else {}),
        **({"Ended": f"{result.outcome}: {result.why}"} if result.outcome in (FAILED, CANCELLED) else {}),
        "Published intervals": f"{len(result.published):,}",
        **({"Ran in": where} if where else {}),
    }
