"""Expectations that hold for each record: one record alone has to be enough."""

from __future__ import annotations

import pytest

from sluice.specs.code.closure import meaning
from sluice.specs.expectations.model import Subject
from sluice.specs.load import load_catalog
from tests.unit.specs.bench import Bench
from tests.unit.specs.case import Case, assert_one_fault, words

SUITE_FILE = "include/expectations/sales.yaml"
SUITE = """\
name: sales
pipeline: sales
expectations:
  - expect: expect_column_values_to_be_in_set
    on: [record, table]
    kwargs: {column: shop, value_set: [north, south]}
  - expect: expect_table_row_count_to_be_between
    kwargs: {min_value: 1}
"""


OF_SHOPS = SUITE.partition("expect: ")[2].partition("\n  -")[0]


@pytest.fixture
def guarded(bench: Bench) -> Bench:
    bench.write(SUITE_FILE, SUITE)
    return bench


def test_what_holds_for_records_and_what_for_rows(guarded: Bench) -> None:
    catalog = load_catalog(guarded.include)
    (of_records,) = catalog.expected_of_records("sales")
    assert of_records.subject == "shop"
    gate = catalog.gate_of("sales")
    assert gate is not None
    assert [expectation.on for expectation in gate.expectations] == [(Subject.RECORD, Subject.TABLE), (Subject.TABLE,)]


def test_a_suite_only_about_records_is_no_gate(guarded: Bench) -> None:
    guarded.edit(SUITE_FILE, SUITE[SUITE.index("  - expect: expect_table") :], "")
    guarded.edit(SUITE_FILE, "on: [record, table]", "on: [record]")
    catalog = load_catalog(guarded.include)
    assert catalog.gate_of("sales") is None
    assert len(catalog.expected_of_records("sales")) == 1


@pytest.mark.parametrize(
    "case",
    [
        ("_values_to_be_in_set", "_values_to_be_unique", 4, "expectations[0].expect", "is about many rows"),
        ("column: shop", "column: shoq", 6, "expectations[0].kwargs.column", "no field 'shoq'"),
        ("south]", "south], mostly: 0.9", 6, "expectations[0].kwargs.mostly", "a share of many rows"),
        ("south]", "south], row_condition: a = 1", 6, "expectations[0].kwargs.row_condition", "can only be Spark's"),
        ("[record, table]", "[recrod]", 5, "expectations[0].on[0]", "it must be 'record', 'table' or 'interval'"),
        ("[record, table]", "[]", 5, "expectations[0].on", "at least one"),
        (
            "to_be_in_set\n    on: [record, table]\n    kwargs: {column: shop, value_set: [north, south]}",
            "to_match_strftime_format\n    on: [record]\n    kwargs: {column: shop, strftime_format: '%Q'}",
            6,
            "expectations[0].kwargs.strftime_format",
            "'%Q' is no directive",
        ),
        (
            OF_SHOPS,
            "unexpected_rows_expectation\n    on: [record]\n    kwargs: {unexpected_rows_query: SELECT 1}",
            6,
            "expectations[0].kwargs.unexpected_rows_query",
            "more than to pick rows out",
        ),
    ],
    ids=words,
)
def test_what_one_record_cannot_break_is_refused(guarded: Bench, case: Case) -> None:
    assert_one_fault(guarded, SUITE_FILE, case)


def test_results_are_another_codes_when_other_records_are_good(guarded: Bench) -> None:
    def meaning_with(old: str, new: str) -> dict[str, object]:
        guarded.write(SUITE_FILE, SUITE)
        guarded.edit(SUITE_FILE, old, new)
        catalog = load_catalog(guarded.include)
        pipeline = catalog.pipelines["sales"]
        return meaning(pipeline, catalog.topics, catalog.expected_of_records("sales"))

    as_it_is = meaning_with("north", "north")
    assert meaning_with("north", "west") != as_it_is
    assert meaning_with("min_value: 1", "min_value: 2") == as_it_is
    without = meaning_with("[record, table]", "[table]")
    assert without != as_it_is
    assert meaning_with("    kwargs: {column: shop", "    severity: info\n    kwargs: {column: shop") == without
