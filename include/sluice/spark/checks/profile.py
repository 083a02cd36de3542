"""The profile of published intervals, from which a suite is proposed."""

from __future__ import annotations

from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import NumericType, StringType

from sluice.errors import NotReadyError
from sluice.intervals.ledger import Ledger
from sluice.project.project import Project
from sluice.quality.suggestion import MAX_VALUES, Column, Profile
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.records.content import named
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.tables.output import OutputTable
from sluice.specs.model.outputs import IntervalsOutput

MAX_INTERVALS = timedelta(days=92)
"""How far back a profile looks from the last closed interval."""


def profile_of(project: Project, spark: SparkSession, pipeline: str) -> Profile:
    """Check what is published.

    Raises:
        NotReadyError: no interval is closed yet.
    """
    spec = project.catalog.pipelines[pipeline]
    output, ledger = spec.intervals, project.tables.ledger(pipeline)
    starts = _recent(ledger, pipeline)
    table = OutputTable(project.folder.table(output.table), output)
    rows = table.rows(spark, starts, table.version()).cache()
    try:
        count = rows.count()
        filled = rows.select(table.column).distinct().count()
        columns = tuple(
            _column(rows, name) for name in rows.columns if name != table.column or name == output.time_column
        )
        return Profile(
            pipeline=pipeline,
            output=output,
            first=starts[0],
            last=starts[-1],
            intervals=len(starts),
            rows=count,
            empty=len(starts) - filled,
            repeated=_repeated(rows, output) if output.keys else None,
            columns=columns,
            static=_references(rows, pipeline_code(project, spark, spec)),
        )
    finally:
        rows.unpersist()


def _recent(ledger: Ledger, pipeline: str) -> list[datetime]:
    until = ledger.closed_until
    closed = [row for row in ledger.between(None, until) if until and not row.dirty]
    if not closed:
        raise NotReadyError(
            f"no interval of {pipeline} is closed yet: there is nothing to propose from.",
            fix="see `sluice intervals list`.",
        )
    since = closed[-1].interval.end - closed[-1].length - MAX_INTERVALS
    near = (row for span in closed if (row := span.within(since, until)) is not None)
    return [single.interval.start for row in near for single in row.each()]


def _column(rows: DataFrame, name: str) -> Column:
    kind, column = rows.schema[name].dataType, named(name)
    numeric, text = isinstance(kind, NumericType), isinstance(kind, StringType)
    asked = [F.count_if(column.isNull()).alias("nulls")]
    if numeric:
        asked += [F.min(column).cast("double").alias("low"), F.max(column).cast("double").alias("high")]
    summary = rows.agg(*asked).collect()[0]
    values: tuple[str, ...] = ()
    if text:
        few = rows.select(column.alias("value")).where("value IS NOT NULL").distinct().limit(MAX_VALUES + 1).collect()
        values = tuple(sorted(row["value"] for row in few)) if len(few) <= MAX_VALUES else ()
    low, high = (summary["low"], summary["high"]) if numeric else (None, None)
    return Column(name, numeric, text, summary["nulls"], low, high, values)


def _repeated(rows: DataFrame, output: IntervalsOutput) -> int:
    keys = [named(name) for name in (*output.keys, output.time_column)]
    shared = rows.groupBy(*keys).count().where("count > 1").agg(F.coalesce(F.sum("count"), F.lit(0)).alias("rows"))
    return int(shared.collect()[0]["rows"])


def _references(rows: DataFrame, code: PipelineCode) -> dict[str, str]:
    """Return static inputs by the text columns of which they have every value.

    Args:
        rows: published rows, with the columns of the output table.
        code: gives the static inputs.
    """
    texts = [name for name in rows.columns if isinstance(rows.schema[name].dataType, StringType)]
    return {
        column: name
        for name, static in code.static.items()
        for column in texts
        if column in static.columns
        and rows.select(column).where(named(column).isNotNull()).subtract(static.select(column)).isEmpty()
    }
