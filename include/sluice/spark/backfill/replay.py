"""A replay: a case's records are validated again, their intervals recomputed and verified, and the case is closed.

Killed anywhere, it may be run again: each step is a backfill under a key of its own, which resumes what is not done and
does nothing where it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from sluice.clock import Clock, SystemClock
from sluice.errors import RefusedError, SluiceError
from sluice.failpoints import failpoint
from sluice.intervals.alignment import Interval, contiguous
from sluice.intervals.backfill.request import Mode, Request
from sluice.intervals.ledger import Ledger
from sluice.observability.logs import get_logger
from sluice.project.project import Project
from sluice.quality.cases import Case, CaseEvent, CaseState
from sluice.quality.quarantine import Revalidation
from sluice.quality.reasons import Outcome
from sluice.settling.rules import SettlingRules
from sluice.spark.backfill.results import Result
from sluice.spark.backfill.run import run_backfill
from sluice.spark.checks.quarantine import quarantine_of, topic_of_records
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.records.pipeline import PipelineCode

log = get_logger()


@dataclass(frozen=True)
class ReplayResult:
    """How a replay ended.

    Attributes:
        case: as it is now.
        revalidation: what today's rules make of its records; None if it was over before.
        backfills: those that took part.
        why: why the case is not closed; empty if it is.
    """

    case: Case
    revalidation: Revalidation | None
    backfills: tuple[str, ...] = ()
    why: str = ""

    @property
    def passed(self) -> bool:
        """Whether the case's records are in the results."""
        return self.case.state is CaseState.REPLAYED


def replay(project: Project, spark: SparkSession, case_id: str, *, by: str, clock: Clock | None = None) -> ReplayResult:
    """Replay a case.

    Raises:
        RefusedError: it was discarded, its pipeline has no intervals, or another backfill is in the way.
        SpecError: there is no such case.
        SluiceError: a backfill could not be done; what was published until then is on record, and repeating this goes
            on.
    """
    clock = clock or SystemClock()
    cases = project.records.cases()
    case = cases.get(case_id)
    if case.state is CaseState.REPLAYED:
        return ReplayResult(case, None)
    _refuse(project, case)
    spec = project.catalog.pipelines[case.pipeline]
    code = pipeline_code(project, spark, spec)
    topic = topic_of_records(project, spec, case.positions)
    quarantine = quarantine_of(project, spark, code, topic)
    found = quarantine.revalidate(case.positions)
    log.info("replay checks again", case=case.id, records=case.records, **_words(found))
    ledger = project.tables.ledger(case.pipeline)
    affected, still_open = _affected(ledger, SettlingRules.of(spec, topic), found)
    if why := _not_yet(case, found, still_open) or below_floor(ledger, affected):
        return ReplayResult(case, found, why=why)
    run = _Run(project, spark, code, case, by, clock)
    backfills = run.all(contiguous(affected))
    failpoint("before_case_closes", case.pipeline)
    event = CaseEvent(
        CaseState.REPLAYED, by, _why(found), clock.now(), tuple(result.backfill for result in backfills), found.counts
    )
    return ReplayResult(cases.add(case.id, event), found, event.backfills)


def _refuse(project: Project, case: Case) -> None:
    if case.state is CaseState.DISCARDED:
        last = case.events[-1]
        raise RefusedError(
            f"the case {case.id} was discarded by {last.by}: {last.why}.",
            fix=f"`sluice quarantine reopen {case.id}` if its records are wanted after all.",
        )
    spec = project.catalog.pipelines.get(case.pipeline)
    if spec is None or not spec.has_intervals:
        raise RefusedError(
            f"the pipeline {case.pipeline} has no sound spec with an `intervals` output, and only intervals can be "
            "computed again.",
            fix="run `sluice check`; outputs of other kinds take what their stream reads, see `sluice streams reset`.",
        )


def _affected(
    ledger: Ledger, rules: SettlingRules, revalidation: Revalidation
) -> tuple[list[Interval], list[Interval]]:
    """Return the intervals whose rows records may change that are good now: those that are closed, and the others."""
    until = ledger.closed_until
    happened = [Interval(start, start + rules.length) for start in revalidation.intervals]
    intervals = sorted({each for times in happened for each in rules.touched_by_any_of(times)})
    closed = [each for each in intervals if until is not None and each.end <= until]
    return closed, [each for each in intervals if each not in closed]


def _not_yet(case: Case, revalidation: Revalidation, still_open: list[Interval]) -> str:
    """Return why nothing is done; empty if there is nothing against it."""
    if revalidation.missing:
        return f"{revalidation.missing:,} of its {case.records:,} records are not in the raw table any more."
    if left := revalidation.left.count:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in revalidation.reasons.items())
        return (
            f"{left:,} of its {case.records:,} records are still quarantined ({reasons}). Mend the rules or the "
            "topic's spec, or discard the case and open one for the others."
        )
    if still_open:
        return (
            f"{len(still_open):,} of its intervals are not closed yet, the last one is {still_open[-1].start:%FT%RZ}. "
            "Replay it again when they are."
        )
    return ""


def below_floor(ledger: Ledger, affected: list[Interval]) -> str:
    """Return why intervals that records would change stay as they are; empty if all can be computed again."""
    cut = [each for each in affected if not ledger.is_whole(each.start)]
    if not cut or ledger.whole is None:
        return ""
    return (
        f"{len(cut):,} of its intervals, the first at {cut[0].start:%FT%RZ}, lie {ledger.whole.why}. Discard the case, "
        "and open one for later records."
    )


def _why(revalidation: Revalidation) -> str:
    late = revalidation.outcomes.get(Outcome.LATE, 0)
    return f"{revalidation.better:,} records are in the results" + (
        f", but for {late:,} that are late: a correction takes them" if late else ""
    )


def _words(revalidation: Revalidation) -> dict[str, int]:
    return {name.replace(": ", "_"): count for name, count in revalidation.counts.items()}


@dataclass(frozen=True)
class _Run:
    project: Project
    spark: SparkSession
    code: PipelineCode
    case: Case
    by: str
    clock: Clock

    def all(self, ranges: Iterable[Interval]) -> list[Result]:
        """Recompute ranges, then verify what was published of them."""
        ranges = list(ranges)
        results = []
        for mode in (Mode.RECOMPUTE, Mode.VERIFY):
            for each in ranges:
                results.append(self._backfill(mode, each))
                failpoint("between_backfills", self.case.pipeline)
        return results

    def _backfill(self, mode: Mode, each: Interval) -> Result:
        request = Request(
            pipeline=self.case.pipeline,
            range=each,
            mode=mode,
            by=self.by,
            why=f"replay of case {self.case.id}",
            replays=self.case.id if mode is Mode.RECOMPUTE else "",
        )
        # The code is in the key: after another change of the rules it is another computation.
        key = f"replay/{self.case.id}/{self.code.code_hash}/{mode}/{each.start:%Y%m%dT%H%M}"
        result = run_backfill(self.project, self.spark, self.code, request, key=key, clock=self.clock)
        if not result.passed:
            raise SluiceError(
                f"the replay of case {self.case.id} stopped: backfill {result.backfill} ended as {result.outcome}: "
                f"{result.why}.",
                fix=f"see `sluice backfill status {result.backfill}`, mend it and replay the case again.",
            )
        return result
