"""The gate fails closed: nothing passes that did not run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import CorruptionError
from sluice.quality.check_result import CheckResult
from sluice.quality.gate import GateResult, judge
from sluice.specs.expectations.model import ExpectationsSpec, Severity
from tests.unit.quality.suites import expectation, suite

WARNING = Severity.WARNING


def outcome(declared: ExpectationsSpec, position: int, *, success: bool) -> CheckResult:
    return CheckResult.of(
        declared.expectations[position], success=success, unexpected=0 if success else 2, observed="2 of 9"
    )


def test_rows_pass_when_every_expectation_was_evaluated_and_holds() -> None:
    declared = suite(expectation("origin"), expectation("carrier", WARNING))
    outcomes = {position: outcome(declared, position, success=True) for position in (1, 0)}
    result = judge(declared, outcomes, rows=9, input_records=20)
    assert result.passed
    assert result.failures == result.warnings == ()
    assert [c.subject for c in result.checked] == ["origin", "carrier"]
    assert (result.expectations_passed, result.expectations_failed) == (2, 0)


def test_a_critical_expectation_that_does_not_hold_stops() -> None:
    declared = suite()
    bad = CheckResult.of(
        declared.expectations[0], success=False, unexpected=2, observed="2 of 9 rows", sample=("x", "y")
    )
    result = judge(declared, {0: bad}, rows=9, input_records=20)
    assert not result.passed
    assert result.failures == ("expect_column_values_to_not_be_null (origin) does not hold: 2 of 9 rows, such as x; y",)
    assert (result.expectations_passed, result.expectations_failed) == (0, 1)


def test_a_warning_that_does_not_hold_is_told_and_stops_nothing() -> None:
    declared = suite(expectation("airline", WARNING))
    result = judge(declared, {0: outcome(declared, 0, success=False)}, rows=9, input_records=20)
    assert result.passed
    assert result.failures == ()
    assert result.warnings == ("expect_column_values_to_not_be_null (airline) does not hold: 2 of 9",)
    assert result.expectations_failed == 1


def test_a_warning_that_could_not_be_evaluated_stops() -> None:
    declared = suite(expectation("airline", WARNING))
    result = judge(
        declared, {0: CheckResult.failed(declared.expectations[0], "no such column")}, rows=9, input_records=20
    )
    assert not result.passed
    assert result.warnings == ()
    assert "could not be evaluated: no such column" in result.failures[0]


def test_an_expectation_that_nobody_evaluated_is_a_failure_and_is_counted() -> None:
    declared = suite(expectation("origin"), expectation("carrier"))
    result = judge(declared, {0: outcome(declared, 0, success=True)}, rows=9, input_records=20)
    assert not result.passed
    assert (result.expectations_passed, result.expectations_failed) == (1, 1)
    assert "(carrier) could not be evaluated" in result.failures[0]


def test_no_expectation_evaluated_is_a_failure() -> None:
    assert not judge(suite(), {}, rows=9, input_records=20).passed


def test_no_rows_although_records_came_in_is_a_failure() -> None:
    declared = suite()
    result = judge(declared, {0: outcome(declared, 0, success=True)}, rows=0, input_records=1_234)
    assert result.failures == ("there are no rows, although 1,234 records came in.",)


def test_no_rows_are_right_where_the_spec_says_so_or_no_record_came() -> None:
    for declared, records in ((suite(may_be_empty=True), 20), (suite(), 0)):
        assert judge(declared, {0: outcome(declared, 0, success=True)}, rows=0, input_records=records).passed


def test_a_pipeline_without_a_suite_must_still_have_rows() -> None:
    assert judge(None, {}, rows=1, input_records=20).passed
    assert judge(None, {}, rows=0, input_records=0).passed
    assert not judge(None, {}, rows=0, input_records=20).passed
    assert not judge(None, {}, rows=None, input_records=20).passed


def test_an_engine_that_raised_says_so_and_fails_whatever_it_found_before() -> None:
    declared = suite()
    result = judge(declared, {0: outcome(declared, 0, success=True)}, rows=9, input_records=20, error="Boom: no.")
    assert result.failures == ("the checks did not finish: Boom: no.",)
    assert not result.passed


SUITES = st.lists(st.sampled_from(list(Severity)), min_size=1, max_size=5).map(
    lambda severities: suite(*(expectation(f"c{number}", severity) for number, severity in enumerate(severities)))
)


@given(
    declared=SUITES,
    data=st.data(),
    rows=st.none() | st.integers(0, 2),
    records=st.integers(0, 2),
    error=st.none() | st.just("broke"),
)
def test_nothing_passes_that_did_not_run(
    declared: ExpectationsSpec, data: st.DataObject, rows: int | None, records: int, error: str | None
) -> None:
    fates = data.draw(st.lists(st.sampled_from(["holds", "not", "raised", "missing"]), min_size=5, max_size=5))
    outcomes = {
        position: CheckResult.failed(one, "raised")
        if fate == "raised"
        else CheckResult.of(one, success=fate == "holds")
        for position, (one, fate) in enumerate(zip(declared.expectations, fates, strict=False))
        if fate != "missing"
    }
    result = judge(declared, outcomes, rows=rows, input_records=records, error=error)
    allowed = all(
        fate == "holds" or (fate == "not" and one.severity is not Severity.CRITICAL)
        for one, fate in zip(declared.expectations, fates, strict=False)
    )
    assert result.passed == (allowed and error is None and rows is not None and not (rows == 0 and records > 0))
    assert result.passed == (not result.failures)
    assert result.expectations_passed + result.expectations_failed == len(declared.expectations)
    assert GateResult.from_json(result.to_json()) == result


def test_a_result_that_hides_its_failures_does_not_pass() -> None:
    declared = suite()
    failed = CheckResult.failed(declared.expectations[0], "raised")
    assert not GateResult("sales", (failed,), rows=1, input_records=1, failures=()).passed


@pytest.mark.parametrize("text", ["", "[]", '{"suite": "sales"}', '{"suite": null, "checked": 3}'])
def test_what_is_no_result_is_not_read_as_one(text: str) -> None:
    with pytest.raises(CorruptionError, match="no result of a quality gate"):
        GateResult.from_json(text)
