"""One trial of the benchmark `admission`, in a process of its own.

Usage: python -m benchmarks.records.admission_trial make <folder> <copies> <flights>
       python -m benchmarks.records.admission_trial check <folder>
       python -m benchmarks.records.admission_trial <variant> <folder> <passes>

`make` writes the records as bytes and append times, `check` compares results, and a variant prints its CPU-seconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StringType

from benchmarks.raw_input import records
from benchmarks.trials import cpu_seconds
from sluice.settings import settings
from sluice.spark.records.decoding import FAULT, decode, value_schema
from sluice.spark.records.validation import OUTCOME, REASON, validate
from sluice.spark.session.session import session
from sluice.specs.load import load_catalog

PIPELINE = "departures"
VARIANTS = ("decode", "strict", "validate")
CANDIDATES = ("python", "python_suspects", "parse_json")
"""Other ways to find what `from_json` does not see: each beside it."""

_CATALOG = load_catalog(settings().home / "include")
_SPEC = _CATALOG.pipelines[PIPELINE]
_VALUE = _CATALOG.topics[_SPEC.source].value


def from_json(rows: DataFrame) -> DataFrame:
    """Decode as Spark does it, parsing each record once."""
    schema = value_schema(_VALUE)
    return rows.select("*", F.inline(F.array(F.from_json(F.col("_value").cast("string"), schema))))


@F.pandas_udf(StringType())  # type: ignore[call-overload]
def _strict_in_python(values: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for batch in values:
        yield batch.map(_fault, na_action="ignore")


def _fault(value: bytes) -> str | None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise KeyError
        return found

    try:
        found = json.loads(value, object_pairs_hook=once)
    except KeyError:
        return "duplicate_key"
    except ValueError:
        return "malformed"
    return None if isinstance(found, dict) else "malformed"


def _suspect() -> Column:
    """Whether as many keys are there as fields were found, and nothing else is odd: what columns can see cheaply."""
    text = F.col("_value").cast("string")
    keys = (F.length(text) - F.length(F.replace(text, F.lit('":'), F.lit("")))) / F.lit(2)
    found = sum((F.col(name).isNotNull().cast("int") for name in _VALUE.fields), F.lit(0))
    return (keys != found) | ~F.rtrim(text).endswith("}") | text.contains("NaN") | text.contains("Infinity")


def _with_python(rows: DataFrame) -> DataFrame:
    return from_json(rows).withColumn(FAULT, _strict_in_python("_value"))


def _with_python_on_suspects(rows: DataFrame) -> DataFrame:
    return from_json(rows).withColumn(FAULT, _strict_in_python(F.when(_suspect(), F.col("_value"))))


def _with_parse_json(rows: DataFrame) -> DataFrame:
    return from_json(rows).withColumn(FAULT, F.try_parse_json(F.col("_value").cast("string")).isNull())


_BY_NAME: dict[str, Callable[[DataFrame], DataFrame]] = {
    "decode": from_json,
    "strict": lambda rows: decode(rows, _VALUE),
    "validate": lambda rows: validate(rows, _VALUE, _SPEC.time),
    "python": _with_python,
    "python_suspects": _with_python_on_suspects,
    "parse_json": _with_parse_json,
}


def cost(spark: SparkSession, folder: Path, variant: str, passes: int) -> dict[str, float]:
    """Return the CPU-seconds of some passes over the records, after one that is not counted."""
    for number in range(passes + 1):
        if number == 1:
            before = cpu_seconds()
        rows = spark.read.parquet(str(folder / "records"))
        _BY_NAME[variant](rows).drop("_value").write.format("noop").mode("overwrite").save()
    return {"cpu": round(cpu_seconds() - before, 2)}


def check(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Count outcomes and reasons, and the records that are not refused and decode to other values by `from_json`."""
    rows = spark.read.parquet(str(folder / "records"))
    ours = validate(rows, _VALUE, _SPEC.time)
    groups = ours.groupBy(F.coalesce(REASON, OUTCOME).alias("what")).count().collect()
    names = list(_VALUE.fields)
    twice = from_json(ours.select("_value", FAULT, F.struct(*names).alias("_ours")))
    different = twice.where(F.col(FAULT).isNull() & ~F.col("_ours").eqNullSafe(F.struct(*names))).count()
    return {"outcomes": {row["what"]: row["count"] for row in groups}, "different": different}


def make(spark: SparkSession, folder: Path, copies: int, flights: int) -> dict[str, Any]:
    """Write all copies of the records that are in `lines`."""
    made = records(spark, folder / "lines", copies, flights).select("_value", "_timestamp")
    made.write.parquet(str(folder / "records"))
    return {"records": spark.read.parquet(str(folder / "records")).count()}


def main(what: str, folder: Path, *numbers: str) -> dict[str, Any]:
    """Do what is asked in a session of ours."""
    spark = session("admission", _SPEC.resources, jars=settings().jars / "spark", warehouse=folder / "warehouse")
    match what:
        case "make":
            return make(spark, folder, *map(int, numbers))
        case "check":
            return check(spark, folder)
    return cost(spark, folder, what, *map(int, numbers))


if __name__ == "__main__":
    task, place, *rest = sys.argv[1:]
    sys.stdout.write(json.dumps(main(task, Path(place), *rest)) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the figures are taken; Spark's own shutdown is nobody's cost
