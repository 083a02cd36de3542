"""Whether our predicates and Great Expectations find the same rows unexpected, over the same generated values.

* Each type of expectation about single rows is read over all rows, with several arguments; row numbers are compared.
* Great Expectations has most types on Spark, LIKE patterns only on SQL: there it reads the same values from SQLite,
  which is told to mind upper and lower case.
* Three types name no rows in its result. Of types of columns only the outcome is compared, of distinct values the
  values, of a query the number of rows.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from sqlalchemy import Engine, event

from benchmarks.records.agreement_values import expectations, rows
from sluice.settings import settings
from sluice.spark.records.predicates import unexpected
from sluice.spark.session.session import session
from sluice.specs.expectations.model import Expectation
from sluice.specs.model.resources import Resources

_ROWS = {"full": 1_000_000, "small": 5_000}
_SEED = 2013
_LIKE = "like_pattern"
_TEXTS = "texts.sqlite"


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `disagreements` (rows on which the two differ, over all types) and `types`."""
    with tempfile.TemporaryDirectory(prefix="sluice-agreement-") as place:
        folder = Path(place)
        table = rows(_ROWS[size], _SEED)
        file = folder / "rows.parquet"
        pq.write_table(table, file, row_group_size=100_000)
        spark = session(
            "agreement",
            Resources(driver_memory="4g"),
            jars=settings().jars / "spark",
            warehouse=folder,
            master="local[2]",
        )
        try:
            differ, seen = compare(spark.read.parquet(str(file)), table, folder)
        finally:
            spark.stop()
    types = {name for name, _ in expectations()}
    figures = {"disagreements": sum(differ.values()), "types": len(types), "values": _ROWS[size]}
    return figures, {"size": size, "by_type": dict(differ), "unexpected": dict(seen)}


def compare(frame: DataFrame, table: pa.Table, folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Return by type on how many rows the two differ, and how many they both find unexpected."""
    from great_expectations.expectations.registry import get_expectation_impl  # noqa: PLC0415 - it takes seconds

    frame = frame.cache()
    frame.count()
    on_spark, on_sql = _spark_batch(frame), _sql_batch(table, folder)
    differ: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for name, kwargs in expectations():
        ours = frame.where(unexpected(Expectation(expect=name, kwargs=kwargs), frame.schema))
        theirs = get_expectation_impl(name)(**kwargs)
        result = _result((on_sql if _LIKE in name else on_spark), theirs)
        wrong, both = _difference(name, kwargs, ours, result, folder)
        print(name, kwargs, f"{both:,} unexpected, {wrong} differ", file=sys.stderr, flush=True)
        differ[name] += wrong
        seen[name] += both
    frame.unpersist()
    return differ, seen


def _difference(
    name: str,
    kwargs: dict[str, Any],
    ours: DataFrame,
    theirs: Any,  # noqa: ANN401 - Great Expectations has no types for us
    folder: Path,
) -> tuple[int, int]:
    found = theirs.result
    if "type" in name:
        empty = ours.isEmpty()
        return int(empty != theirs.success), int(not empty)
    if name == "expect_column_distinct_values_to_be_in_set":
        column = kwargs["column"]
        values = {row[column] for row in ours.select(column).distinct().collect()}
        return len(values ^ set(found["partial_unexpected_list"])), len(values)
    if name == "unexpected_rows_expectation":
        number = ours.count()
        return abs(number - found["observed_value"]), number
    one = set(ours.select("row").toArrow()["row"].to_pylist())
    other = _rows_by_query(found, folder) if _LIKE in name else {int(index["row"]) for index in _listed(found)}
    assert len(other) == found["unexpected_count"]
    return len(one ^ other), len(one & other)


def _listed(found: dict[str, Any]) -> list[dict[str, Any]]:
    return found["unexpected_index_list"] or []


def _rows_by_query(found: dict[str, Any], folder: Path) -> set[int]:
    """Ask SQLite for the rows: of a SQL table, Great Expectations lists only the first twenty, and gives the query."""
    with sqlite3.connect(folder / _TEXTS) as database:
        database.execute("PRAGMA case_sensitive_like = ON")
        numbers = {int(row[0]) for row in database.execute(found["unexpected_index_query"])}
    database.close()
    return numbers


def _result(batch: Any, expectation: Any) -> Any:  # noqa: ANN401 - Great Expectations has no types for us
    shown = {"result_format": "COMPLETE", "unexpected_index_column_names": ["row"]}
    result = batch.validate(expectation, result_format=shown)
    raised = [entry for entry in (result.exception_info or {}).values() if isinstance(entry, dict)]
    if raised or (result.exception_info or {}).get("raised_exception"):
        raise RuntimeError(f"could not be evaluated: {[entry['exception_message'] for entry in raised]}")
    return result


def _context() -> Any:  # noqa: ANN401 - see above
    import great_expectations as gx  # noqa: PLC0415 - it takes seconds
    from great_expectations.data_context.types import base  # noqa: PLC0415 - the same

    return gx.get_context(
        mode="ephemeral",
        project_config=base.DataContextConfig(
            analytics_enabled=False,
            progress_bars=base.ProgressBarsConfig(globally=False),
            store_backend_defaults=base.InMemoryStoreBackendDefaults(),
        ),
    )


def _spark_batch(frame: DataFrame) -> Any:  # noqa: ANN401 - see above
    asset = _context().data_sources.add_spark("rows", persist=False).add_dataframe_asset("rows")
    return asset.add_batch_definition_whole_dataframe("rows").get_batch({"dataframe": frame})


def _sql_batch(table: pa.Table, folder: Path) -> Any:  # noqa: ANN401 - see above
    """Return the texts in SQLite, whose LIKE shall mind upper and lower case."""
    file = folder / _TEXTS
    with sqlite3.connect(file) as database:
        database.execute('CREATE TABLE texts ("row" INTEGER, s TEXT)')
        texts = zip(table["row"].to_pylist(), table["s"].to_pylist(), strict=True)
        database.executemany("INSERT INTO texts VALUES (?, ?)", texts)
    database.close()
    event.listen(Engine, "connect", lambda made, _: made.execute("PRAGMA case_sensitive_like = ON"))
    source = _context().data_sources.add_sqlite("texts", connection_string=f"sqlite:///{file}")
    return source.add_table_asset("texts", table_name="texts").add_batch_definition_whole_table("texts").get_batch()
