"""What the quality gate takes for a million staged rows in a session that runs.

A quarter of departures per hour, airport and carrier, with as many carriers as make a million rows, is on disk as a
backfill stages it. The gate is the shipped suite as far as it is about rows: ten expectations by Great Expectations,
and the sum of each interval against bounds from the intervals before. Two expectations of the suite need the raw table
and the names of airlines, which the generated rows have none of, and are left out.
"""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame

from sluice.gx.gate import run_gate
from sluice.quality.gate import GateResult
from sluice.quality.intervals import IntervalCheckResult, judge_intervals
from sluice.settings import settings
from sluice.spark.checks.interval_measures import measure
from sluice.spark.records.instants import instant
from sluice.spark.session.session import session
from sluice.specs.expectations.model import ExpectationsSpec, Subject
from sluice.specs.expectations.set_level import OWN_ARGUMENTS
from sluice.specs.load import load_catalog
from sluice.specs.model.resources import Resources
from tests.oracle import departures

_ROWS = {"full": 1_000_000, "small": 50_000}
_ROUNDS = {"full": 5, "small": 1}
_HOUR = timedelta(hours=1)


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `seconds_1m`: the median of some gates after a first one that is not counted."""
    suite = _suite()
    with tempfile.TemporaryDirectory(prefix="sluice-gate-") as place:
        folder = Path(place)
        _staged(_ROWS[size]).to_parquet(folder / "rows.parquet", index=False, coerce_timestamps="us")
        resources = Resources(cores=2, driver_memory="2g")
        spark = session("gate", resources, jars=settings().jars / "spark", warehouse=folder)
        try:
            rows = spark.read.parquet(str(folder / "rows.parquet"))
            _checked(_judged(rows, suite), _ROWS[size])
            seconds = []
            for _ in range(_ROUNDS[size]):
                start = perf_counter()
                result = _judged(rows, suite)
                seconds.append(perf_counter() - start)
                _checked(result, _ROWS[size])
        finally:
            spark.stop()
    expectations, intervals = len(suite.expectations), len(result.intervals)
    notes = {
        "size": size,
        "seconds": seconds,
        "rows": _ROWS[size],
        "expectations": expectations,
        "intervals": intervals,
    }
    return {"seconds_1m": round(median(seconds), 2)}, notes


def _suite() -> ExpectationsSpec:
    suite = load_catalog(settings().home / "include").gate_of("departures")
    assert suite is not None
    kept = tuple(each for each in suite.expectations if each.expect not in OWN_ARGUMENTS)
    return suite.model_copy(update={"expectations": kept})


def _staged(count: int) -> pd.DataFrame:
    quarter = departures("2013-01-01", "2013-03-31", with_late=True).rename(columns={"hour_utc": "hour"})
    copies = -(-count // len(quarter))
    many = [quarter.assign(carrier=quarter["carrier"] + f" {number}") for number in range(copies)]
    types = {"delay_sum_min": "int64", "delay_max_min": "Int64"}
    return pd.concat(many).head(count).astype(types)


def _judged(rows: DataFrame, suite: ExpectationsSpec) -> GateResult:
    of_intervals = suite.about(Subject.INTERVAL)

    def judged(cached: DataFrame) -> tuple[IntervalCheckResult, ...]:
        starts = [instant(row[0]) for row in cached.selectExpr("unix_micros(hour)").distinct().collect()]
        return judge_intervals(of_intervals, measure(cached, "hour", sorted(starts), of_intervals), _HOUR, {})

    return run_gate(rows, suite, input_records=1, of_intervals=judged)


def _checked(result: GateResult, rows: int) -> None:
    """Every expectation was evaluated over all rows, or the figure says nothing."""
    errors = [str(each) for each in result.checked if each.error is not None]
    assert not errors, errors
    assert result.rows == rows
    assert result.intervals
    assert result.passed, result.failures
