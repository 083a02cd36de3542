"""Intervals are measured together, and judged as Great Expectations judges the rows of each alone."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pydantic import JsonValue
from pyspark.sql import DataFrame, SparkSession

from sluice.gx.gate import run_gate
from sluice.quality.intervals import ExpectationResult, judge_intervals
from sluice.spark.checks.interval_measures import measure
from sluice.specs.expectations.model import Expectation, ExpectationsSpec, Subject
from sluice.specs.expectations.set_level import OWN_ARGUMENTS, PER_INTERVAL

HOUR = timedelta(hours=1)
STARTS = [datetime(2013, 7, 1, hour, tzinfo=UTC) for hour in range(4)]
EMPTY = datetime(2013, 7, 1, 9, tzinfo=UTC)

ASKED: list[tuple[str, dict[str, JsonValue]]] = [
    ("expect_table_row_count_to_be_between", {"min_value": 11, "max_value": 16}),
    ("expect_table_row_count_to_equal", {"value": 12}),
    ("expect_column_max_to_be_between", {"column": "n", "max_value": 18}),
    ("expect_column_min_to_be_between", {"column": "n", "min_value": 1, "strict_min": True}),
    ("expect_column_mean_to_be_between", {"column": "n", "min_value": 9, "max_value": 12}),
    ("expect_column_median_to_be_between", {"column": "n", "min_value": 9, "max_value": 14}),
    ("expect_column_sum_to_be_between", {"column": "n", "min_value": 110, "max_value": 150}),
    ("expect_column_stdev_to_be_between", {"column": "n", "min_value": 5.5, "max_value": 6.2}),
    ("expect_column_unique_value_count_to_be_between", {"column": "n", "min_value": 9, "max_value": 10}),
    ("expect_column_proportion_of_unique_values_to_be_between", {"column": "n", "min_value": 0.7}),
    ("expect_column_proportion_of_non_null_values_to_be_between", {"column": "word", "min_value": 0.8}),
    ("expect_column_values_to_be_unique", {"column": "id"}),
    ("expect_column_values_to_be_unique", {"column": "n", "mostly": 0.5}),
    ("expect_compound_columns_to_be_unique", {"column_list": ["n", "word"]}),
    ("expect_column_distinct_values_to_contain_set", {"column": "word", "value_set": ["a", "d"]}),
    ("expect_column_distinct_values_to_equal_set", {"column": "word", "value_set": ["a", "b", "c"]}),
    ("expect_column_distinct_values_to_be_in_set", {"column": "word", "value_set": ["a", "b", "c"]}),
    ("expect_column_values_to_be_in_set", {"column": "word", "value_set": ["a", "b"], "mostly": 0.6}),
    ("expect_column_values_to_not_be_null", {"column": "word", "mostly": 0.8}),
    ("expect_column_values_to_be_between", {"column": "n", "min_value": 2, "max_value": 19, "mostly": 0.85}),
    ("expect_column_values_to_match_regex", {"column": "word", "regex": "^[abc]$"}),
    ("expect_column_pair_values_a_to_be_greater_than_b", {"column_A": "n", "column_B": "m", "mostly": 0.5}),
    ("expect_multicolumn_sum_to_equal", {"column_list": ["n", "m"], "sum_total": 17, "mostly": 0.08}),
]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    chance = random.Random(11)
    table = [
        {
            "start": start,
            "id": number if place else number // 2,
            "n": None if chance.random() < 0.1 else chance.randint(0, 20),
            "m": None if chance.random() < 0.1 else chance.randint(0, 20),
            "word": chance.choice(["a", "b", "c", "d" if place == 2 else "a", None if chance.random() < 0.5 else "b"]),
        }
        for place, start in enumerate(STARTS)
        for number in range(10 + 2 * place)
    ]
    columns: dict[str, pa.DataType] = {
        "start": pa.timestamp("us", tz="UTC"),
        "id": pa.int64(),
        "n": pa.int64(),
        "m": pa.int64(),
        "word": pa.string(),
    }
    return spark.createDataFrame(pa.Table.from_pylist(table, schema=pa.schema(list(columns.items()))))


def expectation(name: str, kwargs: dict[str, JsonValue], subject: Subject) -> Expectation:
    return Expectation(expect=name, kwargs=kwargs, on=(subject,))


def ours(rows: DataFrame, asked: list[tuple[str, dict[str, JsonValue]]]) -> list[tuple[Any, ...]]:
    expectations = [expectation(name, kwargs, Subject.INTERVAL) for name, kwargs in asked]
    found = judge_intervals(expectations, measure(rows, "start", STARTS, expectations), HOUR, {})
    return [(each.start, each.checked.expectation, each.checked.success, each.checked.error) for each in found]


@pytest.mark.verify
def test_each_interval_is_judged_as_great_expectations_judges_it_alone(rows: DataFrame) -> None:
    suite = ExpectationsSpec(
        name="s", pipeline="s", expectations=tuple(expectation(name, kwargs, Subject.TABLE) for name, kwargs in ASKED)
    )
    theirs = []
    for start in STARTS:
        alone = rows.where(f"start = timestamp'{start:%Y-%m-%dT%H:%M:%SZ}'")
        checked = run_gate(alone, suite, input_records=1).checked
        theirs += [(start, each.expectation, each.success, each.error) for each in checked]
    assert ours(rows, ASKED) == theirs
    seen = {name: {success for _, found, success, _ in theirs if found == name} for name, _ in ASKED}
    assert [name for name, outcomes in seen.items() if outcomes != {True, False}] == [], "comparing them says little"


def test_every_kind_is_among_them_that_has_a_name_of_great_expectations() -> None:
    compared = {name for name, _ in ASKED}
    assert compared >= {name for name in PER_INTERVAL - OWN_ARGUMENTS.keys() if "_values_" not in name} - {
        "expect_column_pair_values_to_be_in_set",
        "expect_column_value_lengths_to_be_between",
        "expect_column_value_lengths_to_equal",
        "expect_multicolumn_values_to_be_equal",
        "expect_select_column_values_to_be_unique_within_record",
        "unexpected_rows_expectation",
    }


def test_a_condition_leaves_rows_out(rows: DataFrame) -> None:
    only = {"row_condition": "word = 'a'", "condition_parser": "spark"}
    asked = [
        ("expect_table_row_count_to_be_between", {"max_value": 5, **only}),
        ("expect_column_mean_to_be_between", {"column": "n", "min_value": 9, **only}),
        ("expect_column_values_to_not_be_null", {"column": "n", "mostly": 0.9, **only}),
        ("expect_column_values_to_be_unique", {"column": "n", **only}),
    ]
    suite = [expectation(name, kwargs, Subject.INTERVAL) for name, kwargs in asked]
    without = [expectation(n, {k: v for k, v in kw.items() if k not in only}, Subject.INTERVAL) for n, kw in asked]
    assert measure(rows, "start", STARTS, suite) == measure(rows.where("word = 'a'"), "start", STARTS, without)


def test_one_that_cannot_be_evaluated_says_why_and_hinders_no_other(rows: DataFrame) -> None:
    asked: list[tuple[str, dict[str, JsonValue]]] = [
        ("expect_column_mean_to_be_between", {"column": "no_such", "min_value": 0}),
        ("expect_column_mean_to_be_between", {"column": "word", "min_value": 0}),  # breaks when it is run
        ("expect_column_values_to_be_unique", {"column": "no_such"}),
        ("expect_table_row_count_to_be_between", {"min_value": 1}),
    ]
    found = measure(rows, "start", STARTS, [expectation(name, kwargs, Subject.INTERVAL) for name, kwargs in asked])
    for results in found.values():
        *broken, sound = results
        assert all(isinstance(each, str) for each in broken)
        assert "no_such" in str(broken[0])
        assert not isinstance(sound, str)
        assert sound.value == sound.rows > 0


def test_an_interval_without_rows_has_none_and_nothing_else_is_said_of_it(rows: DataFrame) -> None:
    asked: list[tuple[str, dict[str, JsonValue]]] = [
        ("expect_table_row_count_to_be_between", {"min_value": 1}),
        ("expect_column_mean_to_be_between", {"column": "n", "min_value": 0}),
        ("expect_column_values_to_be_unique", {"column": "n"}),
    ]
    expectations = [expectation(name, kwargs, Subject.INTERVAL) for name, kwargs in asked]
    found = judge_intervals(expectations, measure(rows, "start", [EMPTY], expectations), HOUR, {})
    assert [each.verdict for each in found] == [
        ExpectationResult.FAILS,
        ExpectationResult.UNJUDGED,
        ExpectationResult.HOLDS,
    ]
