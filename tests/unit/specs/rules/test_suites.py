"""Suites: each guards one pipeline, and a broken one leaves no pipeline without its gate unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.errors import SpecError
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.expectations.model import Expectation, Severity
from sluice.specs.load import load_catalog
from sluice.specs.reading.kinds import Kind
from tests.unit.specs.bench import PIPELINE_FILE, TOPIC_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words

SUITE_FILE = "include/expectations/sales.yaml"
SUITE = """\
name: sales
pipeline: sales
expectations:
  - expect: expect_column_values_to_not_be_null
    kwargs: {column: shop}
  - expect: expect_column_values_to_not_be_null
    kwargs: {column: hour}
    severity: warning
"""


@pytest.fixture
def guarded(bench: Bench) -> Bench:
    bench.write(SUITE_FILE, SUITE)
    return bench


def test_a_suite_is_found_by_its_pipeline(guarded: Bench) -> None:
    guarded.edit(PIPELINE_FILE, "name: sales", "name: turnover")
    guarded.write("include/pipelines/turnover.yaml", (guarded.home / PIPELINE_FILE).read_text())
    (guarded.home / PIPELINE_FILE).unlink()
    guarded.edit(SUITE_FILE, "pipeline: sales", "pipeline: turnover")
    catalog = load_catalog(guarded.include)
    suite = catalog.suite_of("turnover")
    assert suite is catalog.expectations["sales"]
    assert [e.severity for e in suite.expectations] == [Severity.CRITICAL, Severity.WARNING]
    assert catalog.suite_of("sales") is None


def test_a_pipeline_may_have_no_suite(bench: Bench) -> None:
    assert load_catalog(bench.include).suite_of("sales") is None


@pytest.mark.parametrize(
    "case",
    [
        ("pipeline: sales", "pipeline: sale", 2, "pipeline", "no pipeline 'sale' in include/pipelines. Fix: did you"),
        ("    severity: warning", "    severity: fatal", 8, "expectations[1].severity", "'critical', 'warning'"),
        ("    severity: warning", "    sevrity: warning", 8, "expectations[1].sevrity", "did you mean 'severity'?"),
        ("column: hour", "column: shop", 3, "expectations", "number 2 repeats number 1"),
        ("expect_column", "Expect_column", 4, "expectations[0].expect", "does not have the form"),
        ("name: sales", "name: sale", 1, "name", "the file sales.yaml"),
    ],
    ids=words,
)
def test_a_suite_that_breaks_a_rule_is_refused(guarded: Bench, case: Case) -> None:
    assert_one_fault(guarded, SUITE_FILE, case)


def test_a_suite_expects_something(bench: Bench) -> None:
    bench.write(SUITE_FILE, "name: sales\npipeline: sales\nexpectations: []\n")
    (fault,) = bench.scan().faults
    assert "it needs at least one entry" in fault.message


def test_two_suites_of_one_pipeline_are_both_refused(guarded: Bench) -> None:
    guarded.write("include/expectations/more.yaml", SUITE.replace("name: sales", "name: more"))
    found = guarded.scan()
    assert [(f.file, f.line, f.where) for f in found.faults] == [
        ("include/expectations/more.yaml", 2, "pipeline"),
        (SUITE_FILE, 2, "pipeline"),
    ]
    assert found.catalog.expectations == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [("severity: warning", "severity: fatal"), ("pipeline: sales", "pipeline: sale"), ("expectations:", "a: [")],
    ids=["another-fault", "a-misspelt-pipeline", "no-yaml"],
)
def test_a_pipeline_whose_suite_is_broken_has_not_simply_no_suite(guarded: Bench, old: str, new: str) -> None:
    guarded.edit(SUITE_FILE, old, new)
    catalog = guarded.scan().catalog
    assert "sales" in catalog.pipelines
    with pytest.raises(SpecError, match=r"no sound suite, and include/expectations/sales\.yaml is broken"):
        catalog.suite_of("sales")


def test_a_suite_in_a_file_that_is_no_spec_is_not_forgotten(guarded: Bench) -> None:
    (guarded.home / SUITE_FILE).rename(guarded.home / "include/expectations/sales.yml")
    with pytest.raises(SpecError, match=r"sales\.yml is broken"):
        guarded.scan().catalog.suite_of("sales")


def test_a_broken_suite_of_another_pipeline_is_no_matter_of_this_one() -> None:
    catalog = Catalog(doubtful_suites={"include/expectations/other.yaml": "other"})
    assert catalog.suite_of("sales") is None


def test_a_suite_of_a_broken_pipeline_is_broken_by_its_faults(guarded: Bench) -> None:
    guarded.edit(TOPIC_FILE, "partitions: 2", "partitions: 0")
    found = guarded.scan()
    assert found.broken[Kind.SUITE, "sales"] == found.broken[Kind.TOPIC, "orders"]
    assert found.catalog.expectations == {}


@pytest.mark.parametrize(
    ("kwargs", "subject"),
    [
        ({"column": "a"}, "a"),
        ({"column_B": "b", "column_A": "a"}, "a, b"),
        ({"column_list": ["a", "b", "c"]}, "a, b, c"),
        ({"column_set": ["a"], "exact_match": True}, "a"),
        ({"min_value": 1}, "table"),
    ],
)
def test_an_expectation_names_the_columns_that_it_checks(kwargs: dict[str, object], subject: str) -> None:
    assert Expectation.model_validate({"expect": "expect_x", "kwargs": kwargs}).subject == subject


def test_the_shipped_pipeline_has_a_suite_of_at_least_five_expectations() -> None:
    suite = load_catalog(Path(__file__).parents[4] / "include").suite_of("departures")
    assert suite is not None
    assert len(suite.expectations) >= 5
    assert not suite.may_be_empty
