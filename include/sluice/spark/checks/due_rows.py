"""The rows that outputs beside an interval table must hold, computed by a batch from raw tables, and what they hold.

A row says nothing of the record that it is made of. Where the transform works record by record, that is found out: it
is given those records of one topic whose offset has one bit, then those with the next one, so the bits in whose runs a
row appears are the offset of its record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

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
from sluice.spark.records.pipeline import PipelineCode, SourceCode, good_records, transformed
from sluice.spark.records.validation import OUTCOME, REASON
from sluice.spark.sinks.raw import raw_records
from sluice.spark.sinks.statefulness import output_mode, state_in
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import LatestOutput, Output, RowsOutput, TopicOutput
from sluice.topics.records import RecordPosition

_KEY, _CONTENT, _RANK = "_key_json", "_content_json", "_rank"


def find_due_rows(project: Project, spark: SparkSession, pipeline: PipelineSpec, cut: OpenCut | None) -> RowsAnswer:
    """Return what the outputs of a pipeline over topics must hold and do hold; of topics that it fills only the first.

    Args:
        project: whose tables they are; nothing writes them meanwhile.
        spark: a session.
        pipeline: its spec.
        cut: when tables of open rows were looked at; None: there are none.
    """
    code = pipeline_code(project, spark, pipeline)
    folders = {topic: str(project.folder.table(source.topic.raw.table)) for topic, source in code.sources.items()}
    records = {topic: raw_records(spark.read.format("delta").load(folder)).cache() for topic, folder in folders.items()}
    stream = transformed(
        {
            topic: good_records(raw_records(spark.readStream.format("delta").load(folder)), code.sources[topic])
            for topic, folder in folders.items()
        },
        code,
    )
    state = state_in(stream)
    outputs: list[ObservedRows] = []
    uncovered: dict[str, str] = {}
    if state is not None and output_mode(stream, appended=False) == "append":
        uncovered = {
            _name(output): "its rows come only when nothing can join them any more" for output in _covered(pipeline)
        }
    else:
        due = _Due(project, spark, code, records, is_stateful=state is not None)
        outputs = [due.of(output, cut) for output in _covered(pipeline)]
    judged = (each for topic, own in records.items() for each in _judged(topic, own, code.sources[topic]))
    return RowsAnswer(tuple(outputs), tuple(judged), uncovered)


def _judged(topic: str, records: DataFrame, source: SourceCode) -> Iterator[JudgedRecord]:
    """Yield what validation makes of each record of a topic, by its place."""
    validated = source.validated(records).select("_partition", "_offset", OUTCOME, REASON).collect()
    for row in sorted(validated):
        yield JudgedRecord(RecordPosition(row[0], row[1]), row[2], row[3] or "", topic)


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
        records: all of the raw table of each topic.
        is_stateful: whether the transform takes more than one record for a row.
    """

    project: Project
    spark: SparkSession
    code: PipelineCode
    records: Mapping[str, DataFrame]
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

        What the stream has closed when it reads it for the first time, after a rest, is not added either.
        """
        read_then = {topic: records.where(_is_below(cut.ends[topic])) for topic, records in self.records.items()}
        rows = self._rows(read_then, output)
        intervals = self.code.pipeline.intervals
        start = F.col(intervals.time_column)
        is_open = start > F.lit(self._closed(read_then) - (intervals.window or timedelta()))
        if cut.settled_until is not None:
            is_open &= start >= F.lit(cut.settled_until)
        expected, older = self._newest(rows.where(is_open), output)
        settled = _collected(rows.where(~is_open), output)
        seen = self._seen(output, rows.schema, cut.versions.get(output.table))
        return ObservedRows(output.table, RowsPromise.NEWEST, expected, seen, older, settled)

    def _closed(self, records: Mapping[str, DataFrame]) -> datetime:
        """Return up to when windows may be closed for a stream that has read these records of each topic.

        That is the least watermark of its topics, or the newest window's start less the longest delay.
        """
        newest = {topic: self._newest_event(self.code.sources[topic], own) for topic, own in records.items()}
        delays = {topic: self.code.sources[topic].time.delay for topic in records}
        watermark = min(newest[topic] - delays[topic] for topic in records)
        return max(watermark, max(newest.values()) - max(delays.values()))

    def _newest_event(self, source: SourceCode, records: DataFrame) -> datetime:
        found = good_records(records, source).agg(F.max(F.unix_micros(source.value.event_time))).collect()[0][0]
        return instant(found or 0)

    def _rows(self, records: Mapping[str, DataFrame], output: Output) -> DataFrame:
        good = {topic: good_records(own, self.code.sources[topic]) for topic, own in records.items()}
        return taken_by(transformed(good, self.code), output)

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
        made_of: dict[str, tuple[str, RecordPosition]] = {}
        for topic in self.records:
            made_of |= {content: (topic, place) for content, place in self._places(topic, output).items()}
        attributed = ((row, made_of.get(row.content) if times[row.content] == 1 else None) for row in found)
        return tuple(row if of is None else ObservedRow(row.key, row.content, of[1], of[0]) for row, of in attributed)

    def _places(self, topic: str, output: RowsOutput | TopicOutput) -> dict[str, RecordPosition]:
        """Return for each row that the records of one topic give, by its content, the record that it is made of."""
        records = self.records[topic]
        contents = {row.content for row in _collected(self._given(topic, records, output), output)}
        bits: dict[str, dict[str, int]] = {name: Counter() for name in ("_partition", "_offset")}
        for column, values in bits.items():
            highest = records.agg(F.max(column)).collect()[0][0] or 0
            for bit in range(int(highest).bit_length()):
                has_bit = F.col(column).bitwiseAND(F.lit(1 << bit)) != 0
                for row in _collected(self._given(topic, records.where(has_bit), output), output):
                    values[row.content] += 1 << bit
        return {
            content: RecordPosition(bits["_partition"].get(content, 0), bits["_offset"].get(content, 0))
            for content in contents
        }

    def _given(self, topic: str, records: DataFrame, output: Output) -> DataFrame:
        """Return the rows that records of one topic give, and none of the others."""
        nothing = {other: own.limit(0) for other, own in self.records.items() if other != topic}
        return self._rows({**nothing, topic: records}, output)


def _is_below(ends: Mapping[int, int]) -> Column:
    """Whether a record lies below the offset that its partition was read up to."""
    read = [(F.col("_partition") == partition) & (F.col("_offset") < end) for partition, end in ends.items()]
    return reduce(or_, read)


def _collected(rows: DataFrame, output: RowsOutput | LatestOutput | TopicOutput) -> tuple[ObservedRow, ...]:
    key: Column = F.lit("")
    if not isinstance(output, RowsOutput):
        key = as_json(StructType([rows.schema[name] for name in output.keys]))
    found = rows.select(key.alias(_KEY), as_json(rows.schema).alias(_CONTENT)).collect()
    return tuple(ObservedRow(row[_KEY], row[_CONTENT]) for row in found)
