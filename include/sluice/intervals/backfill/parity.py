"""Parity: what a comparison of the stream's result with the batch's amounts to. INCONCLUSIVE is not a pass."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.intervals.backfill.raw_parity import RawParity
from sluice.intervals.backfill.request import Mode
from sluice.intervals.backfill.selection import BEFORE, NOT_CHECKED, OPEN
from sluice.intervals.backfill.trial import NO_COLUMN_CHANGES, ColumnChanges, RowDifference
from sluice.wording import ExplainedEnum


class ParityOutcome(ExplainedEnum):
    """Of one interval, or of a whole report."""

    IDENTICAL = "identical", "stream and batch agree row by row"
    EXPLAINED = "explained", "every difference lies in an interval that holds late records"
    DIFFERENT = (
        "different",
        "stream and batch differ, and nothing explains it",
        "read the report; the usual cause is a transform that reads a clock, a random number or a changing input",
    )
    RAW_MISMATCH = (
        "raw_mismatch",
        "the raw table lacks or alters records that Kafka still holds, so its agreement with the stream proves nothing",
        "read the report, which names the offsets, then repair the raw table: `sluice docs runbook#raw-mismatch`",
    )
    RECOMPUTED = "recomputed", "the differences are listed, and none is judged"
    CHANGED = (
        "changed",
        "the code on disk gives other rows or columns than are published; nothing was published",
        "read the report: it lists every difference; promote the code, or put the former code back",
    )
    INCONCLUSIVE = (
        "inconclusive",
        "nothing was compared, which does not count as a pass",
        "the report says why: no rows, dirty, or never streamed",
    )


UNEXPLAINED = "nothing explains the difference"
"""Why an interval differs of which nothing else is known."""

PASSES = {ParityOutcome.IDENTICAL, ParityOutcome.EXPLAINED, ParityOutcome.RECOMPUTED, ParityOutcome.CHANGED}


@dataclass(frozen=True)
class Counts:
    """Rows of one interval, the table's against the computed.

    Attributes:
        identical: on both sides.
        missing: computed, not in the table.
        extra: in the table, not computed.
        different: same key, other values (or another number of rows of that key).
        late: late records of the interval (records, not rows); 0 in a recompute, which explains nothing.
        states: carried tables that it leaves with another content.
        samples: a few of the differences, in words.
    """

    identical: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0
    late: int = 0
    states: int = 0
    samples: tuple[str, ...] = ()

    @property
    def differences(self) -> int:
        """Rows that are not the same on both sides, and carried tables."""
        return self.missing + self.extra + self.different + self.states


@dataclass(frozen=True)
class IntervalParity:
    """One interval of a report; `why` is said where it was not compared or where it is not what it should be."""

    interval: Interval
    outcome: ParityOutcome
    counts: Counts = field(default_factory=Counts)
    why: str = ""


def judge_interval(
    mode: Mode, interval: Interval, counts: Counts, changed: str = "", *, continues_corrected: bool = False
) -> IntervalParity:
    """Judge one compared interval.

    Args:
        mode: of the backfill.
        interval: its bounds.
        counts: what the comparison found.
        changed: how the table's content differs from what the ledger says was written; empty if it does not.
        continues_corrected: whether it continues the state of an interval that was corrected just before.
    """
    if changed:
        return IntervalParity(interval, ParityOutcome.DIFFERENT, counts, changed)
    if mode is Mode.RECOMPUTE:
        return IntervalParity(interval, ParityOutcome.RECOMPUTED, counts)
    if not counts.differences:
        return IntervalParity(interval, ParityOutcome.IDENTICAL, counts)
    if mode is Mode.TRY:
        return IntervalParity(interval, ParityOutcome.CHANGED, counts)
    if mode is Mode.CORRECT and (counts.late or continues_corrected):
        return IntervalParity(interval, ParityOutcome.EXPLAINED, counts)
    return IntervalParity(interval, ParityOutcome.DIFFERENT, counts, UNEXPLAINED)


def with_samples(parity: IntervalParity, differences: Iterable[RowDifference]) -> IntervalParity:
    """Return an interval's parity with those of the differences that lie in it as samples."""
    texts = tuple(found.text for found in differences if found.interval == parity.interval.start)
    return replace(parity, counts=replace(parity.counts, samples=texts)) if texts else parity


@dataclass(frozen=True)
class ParityReport:
    """What a backfill found.

    Attributes:
        backfill: its id.
        pipeline: its name.
        mode: of the request.
        range: of the request.
        code: the hash of the code that computed.
        at: when it was finished (UTC).
        intervals: those that were compared, in order.
        left: those that were not, with the reason.
        columns: how the columns differ; only a trial compares them.
        raw: how the raw table compares with Kafka; only a verification does.
        cross_check: what DuckDB says; only a verification of a transform in SQL asks.
    """

    backfill: str
    pipeline: str
    mode: Mode
    range: Interval
    code: str
    at: datetime
    intervals: tuple[IntervalParity, ...] = ()
    left: Mapping[Interval, str] = field(default_factory=dict)
    columns: ColumnChanges = NO_COLUMN_CHANGES
    raw: RawParity | None = None
    cross_check: CrossCheck | None = None

    @property
    def outcome(self) -> ParityOutcome:
        """The worst of raw table and intervals; without a compared row, or with one left out, nothing is proven."""
        found = {parity.outcome for parity in self.intervals}
        mismatch = {ParityOutcome.RAW_MISMATCH} if self.raw is not None and not self.raw.sound else set[ParityOutcome]()
        for worst in (ParityOutcome.RAW_MISMATCH, ParityOutcome.DIFFERENT):
            if worst in found | mismatch:
                return worst
        if not found or ParityOutcome.INCONCLUSIVE in found or self._unproven:
            return ParityOutcome.INCONCLUSIVE
        if self.mode is Mode.RECOMPUTE:
            return ParityOutcome.RECOMPUTED
        if ParityOutcome.CHANGED in found or self.columns:
            return ParityOutcome.CHANGED
        totals = self.totals
        if not totals.identical + totals.differences:
            return ParityOutcome.INCONCLUSIVE
        return ParityOutcome.EXPLAINED if ParityOutcome.EXPLAINED in found else ParityOutcome.IDENTICAL

    @property
    def why(self) -> str:
        """Why it is no pass, in one sentence; empty if it is one."""
        outcome = self.outcome
        parities = [p for p in self.intervals if p.outcome is outcome]
        match outcome:
            case ParityOutcome.RAW_MISMATCH if self.raw is not None:
                return f"{self.raw.why}."
            case ParityOutcome.DIFFERENT:
                first, among = parities[0], f"{len(parities)} of {len(self.intervals)} intervals differ"
                found = "; ".join([first.why, *first.counts.samples[:1]])
                return f"{among}, the first {first.interval.start:%FT%RZ}: {found}."
            case ParityOutcome.INCONCLUSIVE if parities:
                return f"the interval {parities[0].interval.start:%FT%RZ} could not be compared: {parities[0].why}."
            case ParityOutcome.INCONCLUSIVE if left := self._unproven or self.left:
                interval, why = next(iter(left.items()))
                among = f"{len(left)} of {len(self.left) + len(self.intervals)} intervals were left out"
                return f"{among}, the first {interval.start:%FT%RZ}: {why}."
            case ParityOutcome.INCONCLUSIVE:
                return "there was no row to compare, on either side."
        return ""

    @property
    def _unproven(self) -> Mapping[Interval, str]:
        """Intervals that were left out though they are closed; of a recompute or a trial, those that it took."""
        if self.mode in (Mode.RECOMPUTE, Mode.TRY):
            return {interval: why for interval, why in self.left.items() if why.startswith(NOT_CHECKED)}
        return {interval: why for interval, why in self.left.items() if not why.startswith((OPEN, BEFORE))}

    @property
    def totals(self) -> Counts:
        """Sums over the intervals, and the first samples."""
        counts = [parity.counts for parity in self.intervals]
        return Counts(
            identical=sum(c.identical for c in counts),
            missing=sum(c.missing for c in counts),
            extra=sum(c.extra for c in counts),
            different=sum(c.different for c in counts),
            late=sum(c.late for c in counts),
            states=sum(c.states for c in counts),
            samples=tuple(sample for c in counts for sample in c.samples)[:20],
        )

    @property
    def explained(self) -> int:
        """Differences in intervals whose late records explain them."""
        return sum(p.counts.differences for p in self.intervals if p.outcome is ParityOutcome.EXPLAINED)

    @property
    def unexplained(self) -> int:
        """Differences that nothing explains."""
        return sum(max(p.counts.differences, 1) for p in self.intervals if p.outcome is ParityOutcome.DIFFERENT)

    def to_json(self) -> str:
        """Return the report for programs."""
        totals = {k: v for k, v in asdict(self.totals).items() if k != "samples"}
        data: dict[str, object] = {
            "backfill": self.backfill,
            "pipeline": self.pipeline,
            "mode": self.mode,
            "from": self.range.start.isoformat(),
            "to": self.range.end.isoformat(),
            "code": self.code,
            "at": self.at.isoformat(),
            "outcome": self.outcome,
            "totals": {**totals, "explained": self.explained, "unexplained": self.unexplained},
            **({"columns": asdict(self.columns)} if self.mode is Mode.TRY else {}),
            **({"raw": self.raw.as_json()} if self.raw is not None else {}),
            **({"cross_check": asdict(self.cross_check)} if self.cross_check is not None else {}),
            "intervals": [_interval(parity) for parity in self.intervals],
            "left": [{**_bounds(interval), "why": why} for interval, why in self.left.items()],
        }
        return json.dumps(data, indent=1)


def _interval(parity: IntervalParity) -> dict[str, object]:
    return {**_bounds(parity.interval), "outcome": parity.outcome, **asdict(parity.counts), "why": parity.why}


def _bounds(interval: Interval) -> dict[str, str]:
    return {"from": interval.start.isoformat(), "to": interval.end.isoformat()}
