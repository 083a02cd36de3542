"""The page of a comparison: what the table held, what the batch computed, and what explains the difference."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.intervals.alignment import Interval, contiguous
from sluice.intervals.backfill.parity import ParityOutcome, ParityReport
from sluice.intervals.backfill.request import Mode
from sluice.reports.page import Tone, render

_TONES = {
    ParityOutcome.IDENTICAL: Tone.GOOD,
    ParityOutcome.EXPLAINED: Tone.GOOD,
    ParityOutcome.RECOMPUTED: Tone.GOOD,
    ParityOutcome.CHANGED: Tone.WARNING,
    ParityOutcome.INCONCLUSIVE: Tone.WARNING,
    ParityOutcome.DIFFERENT: Tone.BAD,
    ParityOutcome.RAW_MISMATCH: Tone.BAD,
}
_WORDS = {"missing": "missing", "extra": "extra", "different": "different"}
_WORDS_OF_TRIAL = {"missing": "only new", "extra": "only old", "different": "changed"}
_URGENCY = {ParityOutcome.DIFFERENT: 0, ParityOutcome.INCONCLUSIVE: 1}
_MAX_INTERVALS = 500


def parity_page(report: ParityReport, *, facts: Mapping[str, str]) -> str:
    """Return the page as HTML; `facts` are further lines of its overview, name → text."""
    notable = [p for p in report.intervals if p.outcome is not ParityOutcome.IDENTICAL or p.counts.differences or p.why]
    shown = sorted(notable, key=lambda parity: _URGENCY.get(parity.outcome, 2))[:_MAX_INTERVALS]
    return render(
        "parity.html",
        title=f"{report.mode.capitalize()} {report.pipeline}, {_range(report.range)}",
        verdict=report.outcome.value,
        tone=_TONES[report.outcome],
        facts={**facts, **_facts(report)},
        report=report,
        words=_WORDS_OF_TRIAL if report.mode is Mode.TRY else _WORDS,
        every_difference_is_kept=report.mode is Mode.TRY and report.totals.differences > 0,
        shown=[(_range(parity.interval), parity, _TONES[parity.outcome]) for parity in shown],
        unshown=len(notable) - len(shown),
        agreeing=len(report.intervals) - len(notable),
        left=[(_range(interval), why) for interval, why in _joined(report.left)],
    )


def _facts(report: ParityReport) -> dict[str, str]:
    totals, explanation = report.totals, dict[str, str]()
    if report.mode is Mode.TRY:
        return {**_facts_of_trial(report), **_origin(report)}
    if report.mode is not Mode.RECOMPUTE:
        explanation = {
            "Late records": f"{totals.late:,}",
            "Explained by late records": f"{report.explained:,}",
            "Unexplained": f"{report.unexplained:,}",
        }
    return {
        "Intervals compared": f"{len(report.intervals):,}",
        "Identical rows": f"{totals.identical:,}",
        "Missing in the table": f"{totals.missing:,}",
        "Extra in the table": f"{totals.extra:,}",
        "Different": f"{totals.different:,}",
        **explanation,
        **({"Raw table": report.raw.text} if report.raw else {}),
        **({"DuckDB": report.cross_check.text} if report.cross_check else {}),
        **_origin(report),
    }


def _facts_of_trial(report: ParityReport) -> dict[str, str]:
    totals = report.totals
    return {
        "Intervals compared": f"{len(report.intervals):,}",
        "Identical rows": f"{totals.identical:,}",
        "Changed rows": f"{totals.different:,}",
        "Rows only of the new code": f"{totals.missing:,}",
        "Rows only of the old code": f"{totals.extra:,}",
        "Columns": report.columns.text or "the same",
    }


def _origin(report: ParityReport) -> dict[str, str]:
    return {
        "Backfill": report.backfill,
        "Code": report.code[:12],
        "Finished": f"{report.at:%Y-%m-%d %H:%M:%S} UTC",
    }


def _joined(left: Mapping[Interval, str]) -> list[tuple[Interval, str]]:
    """Join neighbours that are left out for the same reason."""
    reasons = dict.fromkeys(left.values())
    joined = [(block, why) for why in reasons for block in contiguous(i for i, w in left.items() if w == why)]
    return sorted(joined)


def _range(interval: Interval) -> str:
    form = "%Y-%m-%d %H:%M"
    last = "%H:%M" if interval.end.date() == interval.start.date() else form
    return f"{interval.start:{form}} to {interval.end:{last}} UTC"
