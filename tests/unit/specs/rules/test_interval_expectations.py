"""Expectations that hold for each interval, and bounds from history: what cannot be judged is refused at its line."""

from __future__ import annotations

import pytest

from sluice.specs.expectations.model import Subject
from sluice.specs.load import load_catalog
from tests.unit.specs.bench import Bench
from tests.unit.specs.case import Case, assert_one_fault, words

SUITE_FILE = "include/expectations/sales.yaml"
SUITE = """\
name: sales
pipeline: sales
check: hourly
samples: masked
expectations:
  - expect: expect_table_row_count_to_be_between
    on: [interval]
    history: {intervals: 8, every: 7 days, at_least: 4}
  - expect: expect_interval_to_reach_its_end
    on: [interval]
    kwargs: {within: 15 minutes}
  - expect: expect_column_values_to_not_be_null
    on: [table, interval]
    kwargs: {column: shop, mostly: 0.9}
"""
FIRST = "expectations[0]"
OWN = "expectations[1]"


@pytest.fixture
def guarded(bench: Bench) -> Bench:
    bench.write(SUITE_FILE, SUITE)
    return bench


def test_the_gate_has_what_is_about_rows_and_intervals(guarded: Bench) -> None:
    gate = load_catalog(guarded.include).gate_of("sales")
    assert gate is not None
    assert [e.expect for e in gate.about(Subject.INTERVAL)] == [e.expect for e in gate.expectations]
    assert len(gate.about(Subject.TABLE)) == 1


def test_a_key_names_what_is_asked_and_not_who_asks(guarded: Bench) -> None:
    first, own, _ = load_catalog(guarded.include).expectations["sales"].expectations
    assert first.key != own.key
    assert first.key == first.model_copy(update={"description": "why", "severity": "info"}).key
    assert first.key != first.model_copy(update={"kwargs": {"min_value": 1}}).key
    assert first.key != first.model_copy(update={"history": None}).key


@pytest.mark.parametrize(
    "case",
    [
        ("on: [interval]\n    history", "on: [table, interval]\n    history", 8, f"{FIRST}.history", "something else"),
        ("row_count_to_be_between", "row_count_to_equal", 8, f"{FIRST}.history", "not about one number"),
        ("every: 7 days", "every: 90 minutes", 8, f"{FIRST}.history.every", "no interval starts there"),
        ("every: 7 days", "every: 0 days", 8, f"{FIRST}.history.every", "no interval starts there"),
        ("at_least: 4", "at_least: 9", 8, f"{FIRST}.history.at_least", "there are never 9"),
        ("    history: {intervals: 8, every: 7 days, at_least: 4}\n", "", 6, f"{FIRST}.kwargs", "nothing bounds it"),
        ("within: 15 minutes", "within: soon", 11, f"{OWN}.kwargs.within", "'soon' is not a duration"),
        (
            "within: 15 minutes",
            "with: 15 minutes, within: 1 hour",
            11,
            f"{OWN}.kwargs.with",
            "no such key is known here",
        ),
        (
            "on: [interval]\n    kwargs: {within",
            "on: [table]\n    kwargs: {within",
            10,
            f"{OWN}.on",
            "only about intervals",
        ),
        ("to_not_be_null", "to_be_increasing", 13, "expectations[2].on", "is not judged interval by interval"),
        (
            "kwargs: {column: shop, mostly: 0.9}",
            "kwargs: {column: shop, row_condition: a = 1}",
            14,
            "expectations[2].kwargs.row_condition",
            "can only be Spark's",
        ),
        (
            "to_reach_its_end\n    on: [interval]\n    kwargs: {within: 15 minutes}",
            "to_reach_its_end\n    on: [interval]",
            9,
            f"{OWN}.kwargs.within",
            "the key is missing",
        ),
    ],
    ids=words,
)
def test_what_cannot_be_judged_is_refused(guarded: Bench, case: Case) -> None:
    assert_one_fault(guarded, SUITE_FILE, case)


REFERENCE = """\
expect: expect_column_values_to_be_in_reference
    on: [interval]
    kwargs: {column: shop, table: sales}"""


@pytest.mark.parametrize(
    "case",
    [
        ("table: sales", "table: salse", 11, f"{OWN}.kwargs.table", "no pipeline has an output table 'salse'"),
        ("table: sales", "static: sizes", 11, f"{OWN}.kwargs.static", "no static input 'sizes'"),
        ("table: sales", "reference_column: s", 11, f"{OWN}.kwargs", "say `static` or `table`"),
    ],
    ids=words,
)
def test_a_reference_is_one_that_there_is(guarded: Bench, case: Case) -> None:
    old = SUITE[SUITE.index("expect: expect_interval") : SUITE.index("\n  - expect: expect_column_values_to_not")]
    guarded.edit(SUITE_FILE, old, REFERENCE)
    assert_one_fault(guarded, SUITE_FILE, case)
