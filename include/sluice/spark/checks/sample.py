"""A pipeline over a sample: the stream's own validation and transform, without Kafka, Airflow or a state folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import AtomicType, StructType, VariantType

from sluice.errors import SluiceError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.carried import NO_STATE
from sluice.quality.preview import JudgedLine, Preview
from sluice.quality.reasons import Outcome, Reason
from sluice.settling.rules import SettlingRules
from sluice.settling.strays import refuse_strays
from sluice.spark.checks.blame import blame
from sluice.spark.records.as_json import as_json
from sluice.spark.records.columns import refuse_unwritable
from sluice.spark.records.instants import instant
from sluice.spark.records.pipeline import (
    PipelineCode,
    SourceCode,
    good_records,
    partition_column,
    partitioned,
    rows_of,
    transformed,
)
from sluice.spark.records.static import read_static
from sluice.spark.records.unbounded import refuse_unbounded
from sluice.spark.records.validation import DETAIL, OUTCOME, REASON
from sluice.spark.tables.carried_states import CarriedStates
from sluice.spark.tables.continuation import Continuation
from sluice.spark.tables.ranges import kept, within
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import HOUR, IntervalsOutput
from sluice.static.places import StaticPlaces


def preview(
    spark: SparkSession,
    home: Path,
    pipeline: PipelineSpec,
    sources: Mapping[str, SourceCode],
    lines: Mapping[str, Sequence[bytes]],
    *,
    arrived_at: Mapping[str, datetime] | None = None,
    places: StaticPlaces | None = None,
) -> Preview:
    """Validate and transform a sample.

    Args:
        spark: a session of `sluice.spark.session.session`.
        home: the project with the transform and the static inputs.
        pipeline: what to run.
        sources: what is done with the records of each topic.
        lines: one value per line, as sent, by topic.
        arrived_at: the broker's timestamp of every line, by topic; without one no arrival time is held against it.
        places: where static inputs are; omitted: they are files of the project, or of packages.

    Raises:
        SpecError: the transform cannot be loaded, raises (with its line), or returns what an output cannot take.
    """
    static = read_static(spark, pipeline, places or StaticPlaces(home / "include", Path))
    # What a sample gives is compared with nothing, so the code needs no identity.
    code = PipelineCode(pipeline, sources, static, code_hash="")
    times = arrived_at or {}
    records = {topic: _kafka_read(spark, lines[topic], times.get(topic)) for topic in sources}
    judged = tuple(
        line
        for topic, source in sources.items()
        for line in _judge(records[topic], source, lines[topic], name=source.name if len(sources) > 1 else "")
    )
    with _transforms_of(home), _faults_of(pipeline, home):
        good = {topic: good_records(records[topic], source) for topic, source in sources.items()}
        columns, values = _made(good, code)
    return Preview(pipeline.name, judged, columns, values)


def _made(good: Mapping[str, DataFrame], code: PipelineCode) -> tuple[dict[str, str], tuple[dict[str, Any], ...]]:
    """Return the columns of the rows that are made of good records, by name, and the rows.

    Raises:
        SpecError: an output cannot take them.
    """
    pipeline, rows = code.pipeline, transformed(good, code)
    results: Iterable[DataFrame]
    outputs = pipeline.every_output
    refuse_unwritable(rows, [pipeline.intervals if isinstance(each, IntervalsOutput) else each for each in outputs])
    first, results = list[str](), [rows]
    if pipeline.has_intervals:
        output = pipeline.intervals
        refuse_unbounded(rows, good.values(), output)
        first, results = [output.time_column], _results(good, rows, output, code)
        rows = partitioned(rows, output)
    columns = {field.name: field.dataType.simpleString() for field in rows.schema}
    ordered = (each.orderBy(*first, *_orderable(rows.schema)) for each in results)
    found = (row for each in ordered for row in each.select(as_json(rows.schema)).collect())
    return columns, tuple(json.loads(row[0]) for row in found)


def _results(
    good: Mapping[str, DataFrame], rows: DataFrame, output: IntervalsOutput, code: PipelineCode
) -> Iterator[DataFrame]:
    """Yield the rows of an interval table, in order: those of each call of the transform.

    Raises:
        RefusedError: no record of their interval has made some, and a settler would refuse them.
    """
    rules, column = SettlingRules.of(code.pipeline), partition_column(output)
    hours = {topic: _hours(own, code.sources[topic]) for topic, own in good.items()}
    happened = sorted(hour for own in hours.values() for hour in own)
    if not output.called_per_interval or not happened:
        made = partitioned(rows, output)
        if happened:
            refuse_strays(output.table, _span(made, column), Interval(happened[0].start, happened[-1].end), rules)
        yield made
        return
    each = SettlingRules.by_topic(code.pipeline)
    touched = {interval for topic, own in hours.items() for h in own for interval in each[topic].touched_by_any_of(h)}
    with TemporaryDirectory(prefix="sluice-carried-") as folder:
        spark = rows.sparkSession
        continuation = Continuation(CarriedStates(spark, Path(folder), code.carries), lambda _: NO_STATE)
        for interval in sorted(touched):
            ranges = {topic: [own.read_range(interval)] for topic, own in each.items()}
            read = {topic: within(code.sources[topic].value.event_time, ranges[topic]) for topic in good}
            given = {topic: own.where(read[topic]) for topic, own in good.items()}
            made = continuation.call(interval.start, given, code) if code.carries else rows_of(given, code)
            refuse_strays(output.table, _span(made, column), rules.read_range(interval), rules)
            yield kept(made, within(column, [interval]))


def _hours(good: DataFrame, source: SourceCode) -> list[Interval]:
    """Return the hours in which good records happened."""
    hour = F.unix_micros(F.date_trunc("hour", source.value.event_time)).alias("hour")
    return [Interval(at, at + HOUR) for at in (instant(row["hour"]) for row in good.select(hour).distinct().collect())]


def _span(rows: DataFrame, column: str) -> tuple[datetime, datetime] | None:
    """Return the first and the last interval with a row, by their starts; None without rows."""
    first, last = rows.select(F.min(F.unix_micros(column)), F.max(F.unix_micros(column))).collect()[0]
    return None if first is None else (instant(first), instant(last))


def _kafka_read(spark: SparkSession, lines: Sequence[bytes], arrived_at: datetime | None) -> DataFrame:
    """Return the lines as records of one partition, with the columns of `sluice.spark.records.kafka_source`."""
    records = pa.table(
        {
            "_offset": pa.array(range(len(lines)), pa.int64()),
            "_timestamp": pa.array([arrived_at] * len(lines), pa.timestamp("us", tz="UTC")),
            "_value": pa.array(lines, pa.binary()),
        }
    )
    return spark.createDataFrame(records).select(
        F.lit("sample").alias("_topic_id"),
        F.lit(0).alias("_partition"),
        "_offset",
        "_timestamp",
        F.lit(None).cast("binary").alias("_key"),
        "_value",
        F.lit(None).cast("array<struct<key: string, value: binary>>").alias("_headers"),
    )


def _judge(records: DataFrame, source: SourceCode, lines: Sequence[bytes], *, name: str) -> tuple[JudgedLine, ...]:
    value, validated = source.value, source.validated(records)
    fields = as_json(validated.select(*value.fields).schema)
    rows = sorted(validated.select("_offset", OUTCOME, REASON, DETAIL, fields.alias("fields")).collect())
    return tuple(
        JudgedLine(
            number=row["_offset"] + 1,
            outcome=Outcome(row[OUTCOME]),
            reason=None if row[REASON] is None else Reason(row[REASON]),
            fields=json.loads(row["fields"]),
            text=line.decode("utf-8", errors="replace"),
            detail=row[DETAIL],
            source=name,
        )
        for row, line in zip(rows, lines, strict=True)
    )


def _orderable(schema: StructType) -> list[Column]:
    simple = [f for f in schema if isinstance(f.dataType, AtomicType) and not isinstance(f.dataType, VariantType)]
    return [F.col(f"`{field.name}`") for field in simple]


@contextmanager
def _transforms_of(home: Path) -> Iterator[None]:
    """Let the project's transforms be imported, and keep what they print off the result."""
    sys.path.insert(0, str(home / "spark_jobs"))
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.path.remove(str(home / "spark_jobs"))


@contextmanager
def _faults_of(pipeline: PipelineSpec, home: Path) -> Iterator[None]:
    """Turn what a transform raises, now or in an executor, into one sentence that names the line."""
    try:
        yield
    except SluiceError:
        raise
    except Exception as error:
        why = blame(error, home, pipeline.transform_file)
        raise SpecError(
            f"the transform {pipeline.transform!r} of {pipeline.name} failed: {why}", fix="mend the transform."
        ) from error
