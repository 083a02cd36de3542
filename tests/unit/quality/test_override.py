"""An override lets pass what somebody has seen, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sluice.quality.check_result import CheckResult
from sluice.quality.gate import GateResult, Override, judge
from sluice.quality.intervals import IntervalCheckResult, judge_interval
from tests.suites.quality_results_suite import HOUR, VOLUME, volume
from tests.twins.clock import START
from tests.unit.quality.suites import expectation, suite

SUITE = suite(expectation("origin"), expectation("carrier"))
FATES = st.sampled_from(["holds", "not", "raised"])
WORD = Override("bob", "a holiday", "sales-1", ())


def outcome(position: int, fate: str) -> CheckResult:
    declared = SUITE.expectations[position]
    return (
        CheckResult.failed(declared, "raised")
        if fate == "raised"
        else CheckResult.of(declared, success=fate == "holds")
    )


def interval(hours: int, fate: str) -> IntervalCheckResult:
    if fate == "raised":
        return judge_interval(VOLUME, START + hours * HOUR, HOUR, "raised", {})
    return volume(hours, 7 if fate == "holds" else 3)


def gate(fates: list[str], rows: int = 9, override: Override | None = None) -> GateResult:
    outcomes = {position: outcome(position, fate) for position, fate in enumerate(fates[:2])}
    intervals = tuple(interval(hours, fate) for hours, fate in enumerate(fates[2:]))
    return judge(SUITE, outcomes, rows=rows, input_records=20, intervals=intervals, override=override)


def test_what_was_found_and_accepted_passes_and_stays_visible() -> None:
    failed = gate(["holds", "not", "holds", "not"])
    assert not failed.passed
    passed = gate(["holds", "not", "holds", "not"], override=replace(WORD, accepted=failed.found))
    assert passed.passed
    assert passed.failures == passed.warnings == ()
    assert passed.overridden == failed.failures
    assert GateResult.from_json(passed.to_json()) == passed


def test_no_rows_are_accepted_only_by_whoever_has_seen_that_there_are_none() -> None:
    failed = gate(["holds", "holds"], rows=0)
    assert gate(["holds", "holds"], rows=0, override=replace(WORD, accepted=failed.found)).passed
    assert not gate(["holds", "holds"], rows=0, override=replace(WORD, accepted=("another",))).passed


def test_another_interval_is_another_finding() -> None:
    seen = gate(["holds", "holds", "not", "holds"])
    result = gate(["holds", "holds", "not", "not"], override=replace(WORD, accepted=seen.found))
    assert not result.passed
    assert len(result.failures) == 1
    assert "2026" in result.failures[0] or f"{START + HOUR:%Y-%m-%dT%H}" in result.failures[0]


def test_many_intervals_are_told_in_one_sentence() -> None:
    result = gate(["holds", "holds", "not", "not", "not"])
    (told,) = result.failures
    assert told.startswith(f"interval {START + 2 * HOUR:%Y-%m-%dT%H:%MZ}: ")
    assert told.endswith("; so 2 earlier intervals")
    (told,) = gate(["holds", "holds", "not", "not"]).failures
    assert told.endswith("; so 1 earlier interval")


@given(st.lists(FATES, min_size=4, max_size=6), st.lists(FATES, min_size=4, max_size=6), st.booleans())
def test_nothing_passes_that_was_not_evaluated_or_not_seen(now: list[str], before: list[str], some: bool) -> None:
    seen = gate(before, rows=9 if some else 0)
    result = gate(now, override=replace(WORD, accepted=seen.found))
    bad = {place for place, fate in enumerate(now) if fate == "not"}
    known = {place for place, fate in enumerate(before) if fate == "not"}
    assert result.passed == (bad <= known and "raised" not in now)
    assert result.passed == (not result.failures)
