"""The page of a quality gate: what was expected of the rows, what was found, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluice.quality.check_result import CheckResult
from sluice.quality.gate import GateResult
from sluice.quality.intervals import ExpectationResult, IntervalCheckResult
from sluice.reports.history import HEIGHT, WIDTH, picture, summary
from sluice.reports.page import Tone, render
from sluice.specs.expectations.model import Expectation, Severity

MAX_FAILING = 20
"""Failing intervals that a page names of one expectation; the newest."""


Found = Sequence[tuple[Expectation, Sequence[IntervalCheckResult]]]
"""Expectations about intervals, each with what is known of it, in the order of time."""


def quality_page(result: GateResult, *, title: str, facts: Mapping[str, str], history: Found = ()) -> str:
    """Return the page as HTML.

    Args:
        result: what the gate found.
        title: what was checked, such as `departures, 2013-01-01 to 2013-01-07`.
        facts: further lines of the overview, name → text, in their order.
        history: what is known of the expectations about intervals; the result's own where it is omitted.
    """
    of_intervals = _of_intervals(result, history)
    return render(
        "quality.html",
        title=title,
        verdict=_verdict(result),
        tone=_tone(result),
        facts={**facts, **_facts(result)},
        result=result,
        checks=[(_word(c), _colour(c), c) for c in sorted(result.checked, key=_urgency)],
        intervals=[_panel(worst, results) for worst, results in of_intervals],
        drawn=(WIDTH, HEIGHT),
    )


def _of_intervals(result: GateResult, history: Found) -> list[tuple[CheckResult, Sequence[IntervalCheckResult]]]:
    """Return each expectation about intervals with what is known of it, the ones that do not hold first."""
    own: dict[str, list[IntervalCheckResult]] = {}
    for each in result.intervals:
        own.setdefault(each.key, []).append(each)
    known = {expectation.key: results for expectation, results in history}
    worst = {key: min(results, key=lambda each: _urgency(each.checked)).checked for key, results in own.items()}
    return [(worst[key], known.get(key) or own[key]) for key in sorted(own, key=lambda key: _urgency(worst[key]))]


def _panel(worst: CheckResult, results: Sequence[IntervalCheckResult]) -> dict[str, object]:
    failing = [each for each in results if not each.checked.holds]
    unjudged = all(each.verdict is ExpectationResult.UNJUDGED for each in results)
    return {
        "check": worst,
        "word": "not judged" if unjudged else _word(worst),
        "colour": Tone.WARNING if unjudged else _colour(worst),
        "summary": summary(results),
        "newest": results[-1],
        "failing": failing[-MAX_FAILING:],
        "more": max(len(failing) - MAX_FAILING, 0),
        "picture": picture(results),
    }


def _verdict(result: GateResult) -> str:
    if not result.passed:
        return "failed"
    if result.overridden:
        return "passed by override"
    return "passed with warnings" if result.warnings else "passed"


def _tone(result: GateResult) -> Tone:
    if not result.passed:
        return Tone.BAD
    return Tone.WARNING if result.warnings or result.overridden else Tone.GOOD


def _facts(result: GateResult) -> dict[str, str]:
    count = result.expectations
    return {
        "Suite": result.suite or "none: only that there are rows was checked",
        "Expectations": f"{result.expectations_passed} of {count} hold" if count else "none",
        **({"Overridden": f"{word.by}: {word.why}"} if (word := result.override) and result.overridden else {}),
        "Rows": f"{result.rows:,}" if result.rows is not None else "could not be counted",
        "From records": f"{result.input_records:,}",
    }


def _urgency(checked: CheckResult) -> int:
    """Order what stops before what warns before what holds; the suite's order within."""
    return 0 if checked.stops else int(checked.holds) + 1


def _word(checked: CheckResult) -> str:
    if checked.error is not None:
        return "not evaluated"
    if checked.success:
        return "holds"
    return {Severity.CRITICAL: "failed", Severity.WARNING: "warning", Severity.INFO: "noted"}[checked.severity]


def _colour(checked: CheckResult) -> Tone:
    if checked.stops:
        return Tone.BAD
    return Tone.GOOD if checked.holds else Tone.WARNING
