"""The page of a quality gate: what was expected of the rows, what was found, and what follows."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.quality.gate import Checked, GateResult
from sluice.reports.page import Tone, render
from sluice.specs.expectations import Severity


def quality_page(result: GateResult, *, title: str, facts: Mapping[str, str]) -> str:
    """Return the page as HTML.

    Args:
        result: what the gate found.
        title: what was checked, such as `departures, 2013-01-01 to 2013-01-07`.
        facts: further lines of the overview, name → text, in their order.
    """
    return render(
        "quality.html",
        title=title,
        verdict=_verdict(result),
        tone=_tone(result),
        facts={**facts, **_facts(result)},
        result=result,
        checks=[(_word(c), _colour(c), c) for c in sorted(result.checked, key=_urgency)],
    )


def _verdict(result: GateResult) -> str:
    if not result.passed:
        return "failed"
    return "passed with warnings" if result.warnings else "passed"


def _tone(result: GateResult) -> Tone:
    if not result.passed:
        return Tone.BAD
    return Tone.WARNING if result.warnings else Tone.GOOD


def _facts(result: GateResult) -> dict[str, str]:
    count = len(result.checked)
    return {
        "Suite": result.suite or "none: only that there are rows was checked",
        "Expectations": f"{result.expectations_passed} of {count} hold" if count else "none",
        "Rows": f"{result.rows:,}" if result.rows is not None else "could not be counted",
        "From records": f"{result.input_records:,}",
    }


def _urgency(checked: Checked) -> int:
    """Order what stops before what warns before what holds; the suite's order within."""
    return 0 if checked.stops else int(checked.holds) + 1


def _word(checked: Checked) -> str:
    if checked.error is not None:
        return "not evaluated"
    if checked.success:
        return "holds"
    return "warning" if checked.severity is Severity.WARNING else "failed"


def _colour(checked: Checked) -> Tone:
    if checked.stops:
        return Tone.BAD
    return Tone.GOOD if checked.holds else Tone.WARNING
