"""The gate on real rows with the real engine: what is good passes, and nothing else does."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.gx.gate import run_gate
from sluice.quality.gate import GateResult
from sluice.settings import settings
from sluice.specs.expectations.model import Expectation, ExpectationsSpec, Severity, Subject
from sluice.specs.load import load_catalog
from tests import oracle
from tests.matrix.recording import FaultRecorder


@pytest.fixture(scope="module")
def staged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The whole year of departures, late flights included, as files on disk."""
    table = oracle.departures("2013-01-01", "2013-12-31", with_late=True).rename(columns={"hour_utc": "hour"})
    folder = tmp_path_factory.mktemp("staged") / "departures.parquet"
    types = {"delay_sum_min": "int64", "delay_max_min": "Int64"}
    table.astype(types).to_parquet(folder, index=False, coerce_timestamps="us")
    return spark.read.parquet(str(folder))


@pytest.fixture(scope="module")
def shipped() -> ExpectationsSpec:
    suite = load_catalog(settings().home / "include").suite_of("departures")
    assert suite is not None
    return suite.model_copy(update={"expectations": suite.about(Subject.TABLE)})


def suite(*expectations: tuple[str, dict[str, Any]], severity: Severity = Severity.CRITICAL) -> ExpectationsSpec:
    declared = tuple(Expectation(expect=name, kwargs=kwargs, severity=severity) for name, kwargs in expectations)
    return ExpectationsSpec(name="departures", pipeline="departures", expectations=declared)


def few(staged: DataFrame) -> DataFrame:
    return staged.orderBy("hour", "origin", "carrier").limit(50)


def cached(spark: SparkSession) -> int:
    context = cast("Any", spark.sparkContext)
    return int(context._jsc.getPersistentRDDs().size())


def failing(result: GateResult) -> list[tuple[str, str]]:
    return [(c.expectation, c.subject) for c in result.checked if not c.holds]


def test_the_real_year_passes_the_shipped_suite(
    staged: DataFrame, shipped: ExpectationsSpec, capfd: pytest.CaptureFixture[str]
) -> None:
    result = run_gate(staged, shipped, input_records=336_776)
    assert result.failures == result.warnings == ()
    assert result.passed
    assert result.rows == len(oracle.departures("2013-01-01", "2013-12-31", with_late=True))
    assert (result.expectations_passed, result.expectations_failed) == (len(shipped.expectations), 0)
    assert [c.expectation for c in result.checked] == [e.expect for e in shipped.expectations]
    assert "Calculating Metrics" not in capfd.readouterr().err


def test_a_row_that_is_there_twice_and_an_unknown_airport_stop(staged: DataFrame, shipped: ExpectationsSpec) -> None:
    rows = few(staged)
    moved = rows.limit(1).withColumn("origin", F.lit("XXX"))
    result = run_gate(rows.union(rows.limit(1)).union(moved), shipped, input_records=100)
    assert not result.passed
    assert failing(result) == [
        ("expect_compound_columns_to_be_unique", "origin, carrier, hour"),
        ("expect_column_values_to_be_in_set", "origin"),
    ]
    twice, unknown = (c for c in result.checked if not c.holds)
    assert twice.unexpected == 2
    assert twice.sample == ("origin=EWR, carrier=UA, hour=2013-01-01T10:00:00+00:00",)
    assert (unknown.unexpected, unknown.sample) == (1, ("XXX",))


def test_a_warning_is_reported_and_stops_nothing(staged: DataFrame, shipped: ExpectationsSpec) -> None:
    rows = few(staged).withColumn("airline", F.lit(None).cast("string"))
    result = run_gate(rows, shipped, input_records=100)
    assert result.passed
    assert result.warnings == (
        "expect_column_values_to_not_be_null (airline) does not hold: 50 of 50 rows are unexpected",
    )


def test_an_empty_batch_is_refused_although_every_expectation_holds(
    staged: DataFrame, shipped: ExpectationsSpec
) -> None:
    result = run_gate(staged.limit(0), shipped, input_records=7)
    assert result.expectations_failed == 0
    assert result.failures == ("there are no rows, although 7 records came in.",)


def test_an_empty_batch_from_no_records_passes(staged: DataFrame, shipped: ExpectationsSpec) -> None:
    assert run_gate(staged.limit(0), shipped, input_records=0).passed


def test_a_column_that_is_not_there_is_an_error_and_not_a_pass(staged: DataFrame, shipped: ExpectationsSpec) -> None:
    result = run_gate(few(staged).drop("airline"), shipped, input_records=100)
    assert not result.passed, "a warning that could not be evaluated stops"
    assert [c.error for c in result.checked if c.error] == ['The column "airline" in BatchData does not exist.']


@pytest.mark.parametrize(
    ("expect", "kwargs", "words"),
    [
        ("expect_nothing", {"column": "origin"}, "expect_nothing not found"),
        ("expect_column_values_to_be_between", {"column": "departed", "min_valu": 0}, "extra fields not permitted"),
        ("expect_column_values_to_be_between", {"column": "departed", "min_value": 9, "max_value": 1}, "greater than"),
        ("expect_column_max_to_be_between", {"column": "origin", "min_value": 1}, "could not be evaluated"),
    ],
    ids=["an-unknown-name", "a-wrong-argument", "bounds-the-wrong-way-round", "a-number-against-text"],
)
def test_an_expectation_that_cannot_be_evaluated_stops_and_the_others_are_still_evaluated(
    staged: DataFrame, expect: str, kwargs: dict[str, object], words: str
) -> None:
    wanted = suite((expect, kwargs), ("expect_column_to_exist", {"column": "origin"}), severity=Severity.WARNING)
    result = run_gate(few(staged), wanted, input_records=100)
    assert not result.passed
    assert words in result.failures[0]
    assert (result.expectations_passed, result.expectations_failed) == (1, 1)


def test_no_expectation_that_can_be_evaluated_is_no_pass(staged: DataFrame) -> None:
    result = run_gate(few(staged), suite(("expect_nothing", {})), input_records=100)
    assert (result.passed, result.expectations_passed) == (False, 0)


def test_values_are_seen_as_well_as_rows(staged: DataFrame) -> None:
    wanted = suite(("expect_column_max_to_be_between", {"column": "departed", "max_value": 5}))
    (check,) = run_gate(staged, wanted, input_records=100).checked
    assert (check.success, check.unexpected, check.observed) == (False, None, "observed 18")


class NoRows:
    """What Great Expectations cannot take for a DataFrame, though it can be counted."""

    is_cached = True

    def count(self) -> int:
        return 5


@pytest.mark.usefixtures("spark")  # the engine would make one without Delta, which is then that of all tests
@pytest.mark.proves("gate-fails")
def test_an_engine_that_raises_fails_the_gate_and_is_heard(shipped: ExpectationsSpec, faults: FaultRecorder) -> None:
    log = logging.getLogger("great_expectations")
    level = log.level
    result = run_gate(cast("DataFrame", NoRows()), shipped, input_records=100)
    assert not result.passed
    assert result.rows == 5
    assert result.failures[0].startswith("the checks did not finish: ")
    faults.struck(result.failures[0])
    faults.compared("the gate's word: nothing passed")
    assert result.expectations_failed == len(shipped.expectations)
    assert log.level == level


def test_files_that_vanished_fail_the_gate(
    spark: SparkSession, staged: DataFrame, shipped: ExpectationsSpec, tmp_path: Path
) -> None:
    folder = tmp_path / "gone"
    few(staged).write.parquet(str(folder))
    rows = spark.read.parquet(str(folder))
    shutil.rmtree(folder)
    for wanted in (shipped, None):
        result = run_gate(rows, wanted, input_records=100)
        assert (result.passed, result.rows) == (False, None)
        assert "FileNotFound" in result.failures[0] or "FILE_NOT_EXIST" in result.failures[0]


def test_without_a_suite_rows_are_only_counted(staged: DataFrame) -> None:
    assert run_gate(few(staged), None, input_records=100).passed
    assert not run_gate(staged.limit(0), None, input_records=100).passed


def test_the_cache_is_given_back_and_the_callers_own_is_left_alone(spark: SparkSession, staged: DataFrame) -> None:
    before = cached(spark)
    wanted = suite(("expect_column_to_exist", {"column": "origin"}))
    run_gate(few(staged), wanted, input_records=100)
    assert cached(spark) == before
    rows = few(staged).persist()
    run_gate(rows, wanted, input_records=100)
    assert rows.is_cached
    rows.unpersist()
