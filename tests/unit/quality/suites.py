"""Suites for tests of the gate, made without files."""

from __future__ import annotations

from sluice.specs.expectations.model import Expectation, ExpectationsSpec, Severity


def expectation(column: str, severity: Severity = Severity.CRITICAL) -> Expectation:
    return Expectation(expect="expect_column_values_to_not_be_null", kwargs={"column": column}, severity=severity)


def suite(*expectations: Expectation, may_be_empty: bool = False) -> ExpectationsSpec:
    declared = expectations or (expectation("origin"),)
    return ExpectationsSpec(name="sales", pipeline="sales", expectations=declared, may_be_empty=may_be_empty)
