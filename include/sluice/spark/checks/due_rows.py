"""The rows that outputs beside an interval table must hold, computed by a batch from the raw table, and what they hold.

A row says nothing of the record that it is made of. Where the transform works record by record, that is found out: it
is given those records whose offset has one bit, then those with the next one, so the bits in whose runs a row appears
are the offset of its record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StructType

from sluice.project.project import Project
from sluice.proof.observations import JudgedRecord, ObservedRow, ObservedRows, RowsPromise
from sluice.proof.rows_file import OpenCut, RowsAnswer
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.records.as_json import as_json
from sluice.spark.records.columns import taken_by
from sluice.spark.records.instants import instant
from sluice.spark.records.pipeline import PipelineCode, good_records, transformed
from sluice.spark.records.validation import OUTCOME, REASON
from sluice.spark.sinks.raw import raw_records
from sluice.spark.sinks.statefulness import output_mode, state_in
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import LatestOutput, Output, RowsOutput, TopicOutput
from sluice.topics.records import RecordPosition

_KEY, _CONTENT, _RANK = "_key_json", "_content_json", "_rank"


def find_due_rows(project: Project, spark: SparkSession, pipeline: PipelineSpec, cut: OpenCut | None) -> RowsAnswer:
    """Return what the outputs of a pipeline over one topic must hold and do hold; of topics only the first.

    Args:
        project: whose tables they are; nothing writes them meanwhile.
        spark: a session.
        pipeline: its spec.
        cut: when tables of open rows were looked at; None: there are none.
    """
    code = pipeline_code(project, spark, pipeline)
    ((topic, source),) = code.sources.items()
    folder = project.folder.table(source.topic.raw.table)
    records = raw_records(spark.read.format("delta").load(str(folder))).cache()
    validated = source.validated(records).select("_partition", "_offset", OUTCOME, REASON).collect()
    stream = transformed(
        {topic: good_records(raw_records(spark.readStream.format("delta").load(str(folder))), source)}, code
    )
    state = state_in(stream)
    outputs: list[ObservedRows] = []
    uncovered: dict[str, str] = {}
    if state is not None and output_mode(stream, appended=False) == "append":
        uncovered = {
            _name(output): "its rows come only when nothing can join them any more" for output in _covered(pipeline)
        }
    else:
        due = _Due(project, spark, code, topic, records, is_stateful=state is not None)
        outputs = [due.of(output, cut) for output in _covered(pipeline)]
    judged = (JudgedRecord(RecordPosition(row[0], row[1]), row[2], row[3] or "") for row in sorted(validated))
    return RowsAnswer(tuple(outputs), tuple(judged), uncovered)


def _covered(pipeline: PipelineSpec) -> list[RowsOutput | LatestOutput | TopicOutput]:
    return [each for each in pipeline.side_outputs if isinstance(each, RowsOutput | LatestOutput | TopicOutput)]


def _name(output: RowsOutput | LatestOutput | TopicOutput) -> str:
    return output.topic if isinstance(output, TopicOutput) else output.table


@dataclass(frozen=True)
class _Due:
    """Computes what is due.

    Attributes:
        project: whose tables they are.
        spark: the session.
        code: the pipeline's.
        topic: that it reads.
        records: all of the raw table.
        is_stateful: whether the transform takes more than one record for a row.
    """

    project: Project
    spark: SparkSession
    code: PipelineCode
    topic: str
    records: DataFrame
    is_stateful: bool

    def of(self, output: RowsOutput | LatestOutput | TopicOutput, cut: OpenCut | None) -> ObservedRows:
        """Return what is due in an output, and what a table holds."""
        if isinstance(output, LatestOutput) and output.keep == "open" and cut is not None:
            return self._open(output, cut)
        rows = self._rows(self.records, output)
        if isinstance(output, LatestOutput):
            expected, older = self._newest(rows, output)
            return ObservedRows(output.table, RowsPromise.NEWEST, expected, self._seen(output, rows.schema), older)
        if self.is_stateful:  # each batch sends what has changed, so the last one counts
            return ObservedRows(_name(output), RowsPromise.NEWEST, _collected(rows, output), ())
        expected = self._attributed(rows, output)
        seen = () if isinstance(output, TopicOutput) else self._seen(output, rows.schema)
        return ObservedRows(_name(output), RowsPromise.EACH, expected, seen)

    def _open(self, output: LatestOutput, cut: OpenCut) -> ObservedRows:
        """Return the rows of intervals that were open; those of settled ones go, and may be there for a moment.

        What the watermark has passed when a stream reads it for the first time, after a rest, is not added either.
        """
        read = [(F.col("_partition") == p) & (F.col("_offset") < end) for p, end in cut.ends.items()]
        is_read = read[0]
        for each in read[1:]:
            is_read |= each
        read_then = self.records.where(is_read)
        rows, source = self._rows(read_then, output), self.code.sources[self.topic]
        newest = good_records(read_then, source).agg(F.max(F.unix_micros(source.value.event_time))).collect()[0][0]
        since = instant(newest or 0) - source.time.delay
        if cut.settled_until is not None:
            since = max(since, cut.settled_until)
        is_open = F.col(self.code.pipeline.intervals.time_column) >= F.lit(since)
        expected, older = self._newest(rows.where(is_open), output)
        settled = _collected(rows.where(~is_open), output)
        seen = self._seen(output, rows.schema, cut.versions.get(output.table))
        return ObservedRows(output.table, RowsPromise.NEWEST, expected, seen, older, settled)

    def _rows(self, records: DataFrame, output: Output) -> DataFrame:
        source = self.code.sources[self.topic]
        return taken_by(transformed({self.topic: good_records(records, source)}, self.code), output)

    def _newest(self, rows: DataFrame, output: LatestOutput) -> tuple[tuple[ObservedRow, ...], tuple[ObservedRow, ...]]:
        """Return the newest rows of each key, and those that they replace."""
        if output.newest_by is None:
            return _collected(rows, output), ()
        order = Window.partitionBy(*(F.col(f"`{key}`") for key in output.keys)).orderBy(F.desc(output.newest_by))
        ranked = rows.withColumn(_RANK, F.rank().over(order))
        newest, older = (ranked.where(where).drop(_RANK) for where in (F.col(_RANK) == 1, F.col(_RANK) > 1))
        return _collected(newest, output), _collected(older, output)

    def _seen(
        self, output: RowsOutput | LatestOutput, schema: StructType, version: int | None = None
    ) -> tuple[ObservedRow, ...]:
        folder = self.project.folder.table(output.table)
        reader = self.spark.read.format("delta")
        table = (reader if version is None else reader.option("versionAsOf", version)).load(str(folder))
        return _collected(table.select(*(f"`{name}`" for name in schema.names)), output)

    def _attributed(self, rows: DataFrame, output: RowsOutput | TopicOutput) -> tuple[ObservedRow, ...]:
        """Return rows with the records that they are made of, as far as no two rows are alike."""
        found = _collected(rows, output)
        times = Counter(row.content for row in found)
        bits: dict[str, dict[str, int]] = {name: Counter() for name in ("_partition", "_offset")}
        for column, values in bits.items():
            highest = self.records.agg(F.max(column)).collect()[0][0] or 0
            for bit in range(int(highest).bit_length()):
                has_bit = F.col(column).bitwiseAND(F.lit(1 << bit)) != 0
                for row in _collected(self._rows(self.records.where(has_bit), output), output):
                    values[row.content] += 1 << bit
        return tuple(
            ObservedRow(row.key, row.content, _place(bits, row.content)) if times[row.content] == 1 else row
            for row in found
        )


def _place(bits: Mapping[str, Mapping[str, int]], content: str) -> RecordPosition:
    return RecordPosition(bits["_partition"].get(content, 0), bits["_offset"].get(content, 0))


def _collected(rows: DataFrame, output: RowsOutput | LatestOutput | TopicOutput) -> tuple[ObservedRow, ...]:
    key: Column = F.lit("")
    if not isinstance(output, RowsOutput):
        key = as_json(StructType([rows.schema[name] for name in output.keys]))
    found = rows.select(key.alias(_KEY), as_json(rows.schema).alias(_CONTENT)).collect()
    return tuple(ObservedRow(row[_KEY], row[_CONTENT]) for row in found)
