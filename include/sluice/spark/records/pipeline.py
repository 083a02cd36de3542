"""A pipeline as a function from records to rows: validation, watermark, transform. The same for stream and batch."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StructField, StructType

from sluice.quality.reasons import Outcome
from sluice.spark.records.columns import taken_by
from sluice.spark.records.quarantine_counts import counting_quarantined
from sluice.spark.records.static import ChangingStatic
from sluice.spark.records.transforms import Called, Transform, call_carrying, load_transform
from sluice.spark.records.unbounded import makes_rows_of_nothing
from sluice.spark.records.validation import OUTCOME, is_heartbeat, validate
from sluice.specs.expectations.model import Expectation
from sluice.specs.model.duration import format_duration
from sluice.specs.model.model import PipelineSpec, TopicSpec, TopicValue
from sluice.specs.model.outputs import CarriedTable, IntervalsOutput
from sluice.specs.model.sources import RecordPart, TimeRules
from sluice.topics.deduplication import ID

INTERVAL = "interval_start"
"""The partition column of tables whose rows say when in their interval they belong."""


_REPETITION = "_repetition"
_PARTS: Mapping[RecordPart, str] = {
    RecordPart.KEY: "_key",
    RecordPart.HEADERS: "_headers",
    RecordPart.PARTITION: "_partition",
    RecordPart.OFFSET: "_offset",
    RecordPart.BROKER_TIME: "_timestamp",
}


@dataclass(frozen=True)
class SourceCode:
    """What turns the records of one topic into those that a transform is given.

    Attributes:
        name: under which the transform takes them.
        topic: the topic's spec.
        time: the pipeline's rules for it.
        expected: what must hold for each record.
        columns: further columns by name: what a record has beside its value.
        delivered: whether an output of this project fills the topic, which repeats records after a crash.
    """

    name: str
    topic: TopicSpec
    time: TimeRules
    expected: tuple[Expectation, ...] = ()
    columns: Mapping[str, RecordPart] = field(default_factory=dict)
    delivered: bool = False

    @property
    def value(self) -> TopicValue:
        """What the bytes of a record mean."""
        return self.topic.value

    def validated(self, records: DataFrame) -> DataFrame:
        """Return what `validate` makes of records with the columns of `read_stream`."""
        return validate(records, self.value, self.time, self.expected)

    def given(self, good: DataFrame) -> DataFrame:
        """Return the columns that the transform is given of good records: the declared fields, and `columns`."""
        return good.select(
            *self.value.fields, *(F.col(_PARTS[part]).alias(name) for name, part in self.columns.items())
        )

    @property
    def taken_columns(self) -> tuple[str, ...]:
        """Those of good records that `given` takes."""
        return tuple(dict.fromkeys((*self.value.fields, *(_PARTS[part] for part in self.columns.values()))))


@dataclass(frozen=True)
class TableCode:
    """What a transform is given of a settled table: its rows, with the columns that its own transform gave them.

    Attributes:
        name: under which the transform takes them.
        output: the declaration of the table, in the pipeline that settles it.
        schema: of the rows that the transform is given.
    """

    name: str
    output: IntervalsOutput
    schema: StructType

    @classmethod
    def of(cls, name: str, output: IntervalsOutput, schema: StructType) -> TableCode:
        """Return it without the column that is Sluice's own.

        Args:
            name: see above.
            output: see above.
            schema: of the table.
        """
        hidden = set() if window_is_interval(output) else {INTERVAL}
        fields = [StructField(f.name, f.dataType) for f in schema if f.name not in hidden]
        return cls(name, output, StructType(fields))


@dataclass(frozen=True)
class PipelineCode:
    """What turns records into rows.

    Attributes:
        pipeline: its spec.
        sources: what is done with the records of each topic, by the topic's name.
        static: the static inputs.
        code_hash: names all of it but the content of static inputs that change.
        digests: of these: what `static` holds of each, by name.
        changing: reads them again; None where there are none.
        tables: what is taken of each settled table, by what `table_input` calls it.
        states: what an interval continues of each table that the pipeline carries; of one that is missing, nothing.
    """

    pipeline: PipelineSpec
    sources: Mapping[str, SourceCode]
    static: Mapping[str, DataFrame]
    code_hash: str
    tables: Mapping[str, TableCode] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    changing: ChangingStatic | None = None
    states: Mapping[str, DataFrame] = field(default_factory=dict)

    def newest(self) -> PipelineCode:
        """Return the code with what its static inputs hold now; itself if that is the same, or was read just before.

        Raises:
            SluiceError: one of them cannot be read.
        """
        return self if self.changing is None else self._with(self.changing, self.changing.newest())

    def as_of(self, digests: Mapping[str, str]) -> PipelineCode:
        """Return the code with what its static inputs held: of those that are not named, what they hold here.

        Raises:
            RefusedError: a snapshot is gone.
        """
        if self.changing is None:
            return self
        return self._with(self.changing, {name: digests.get(name, own) for name, own in self.digests.items()})

    def _with(self, changing: ChangingStatic, digests: Mapping[str, str]) -> PipelineCode:
        if digests == self.digests:
            return self
        return self._changed(replace(self, static={**self.static, **changing.frames(digests)}, digests=digests))

    def continuing(self, states: Mapping[str, DataFrame]) -> PipelineCode:
        """Return the code as it continues the carried tables that an interval has left."""
        return self._changed(replace(self, states=states))

    def _changed(self, made: PipelineCode) -> PipelineCode:
        made.__dict__["transform"] = self.transform  # it is loaded once, see below
        return made

    @property
    def carries(self) -> Mapping[str, CarriedTable]:
        """The tables that the pipeline's intervals hand on."""
        return self.pipeline.intervals.carries if self.pipeline.has_intervals else {}

    @cached_property
    def transform(self) -> Transform:
        """The transform, as it was when it was first asked for: what the hash names must not change under a driver."""
        return load_transform(self.pipeline)


def sources_of(
    pipeline: PipelineSpec,
    topics: Mapping[str, TopicSpec],
    expected: Mapping[str, Sequence[Expectation]],
    delivered: Container[str] = (),
) -> dict[str, SourceCode]:
    """Return what is done with the records of each topic of a pipeline, by the topic's name.

    Args:
        pipeline: the spec.
        topics: the specs of its topics, by their names.
        expected: what must hold for each record of a source, by the source's name.
        delivered: the topics that outputs of the project fill.
    """
    return {
        source.topic: SourceCode(
            name,
            topics[source.topic],
            source.time,
            tuple(expected.get(name, ())),
            dict(source.columns),
            source.topic in delivered,
        )
        for name, source in pipeline.topic_sources.items()
    }


def result_rows(
    records: Mapping[str, DataFrame], code: PipelineCode, *, late: Mapping[str, Column] | None = None
) -> DataFrame:
    """Return the pipeline's result: validation, then the transform over what is good.

    The same for a stream and a batch; on a batch the watermark does nothing.

    Args:
        records: the columns of `read_stream`, by topic; of a settled table its rows.
        code: the pipeline's.
        late: whether a late record counts as good, by topic; never in a stream.

    Returns:
        The transform's columns and, where a window is shorter than an interval, `INTERVAL` (timestamp). Where a call is
        given the records of one interval, no good records make no rows.
    """
    return rows_of(good_input(records, code, late=late), code)


def good_input(
    records: Mapping[str, DataFrame], code: PipelineCode, *, late: Mapping[str, Column] | None = None
) -> dict[str, DataFrame]:
    """Return what one call of the transform is given, see `result_rows`: good records by topic, and rows of tables."""
    late = late or {}
    good = {t: good_records(records[t], source, late=late.get(t)) for t, source in code.sources.items()}
    return {**good, **{t: records[t] for t in code.tables}}


def rows_of(good: Mapping[str, DataFrame], code: PipelineCode) -> DataFrame:
    """Return the rows that one call of the transform makes of good records; see `result_rows`."""
    return table_rows(transformed(good, code), good, code)


def table_rows(made: DataFrame, good: Mapping[str, DataFrame], code: PipelineCode) -> DataFrame:
    """Return those of the transform's rows that the interval table takes, with their partition column.

    Args:
        made: what a call of the transform returned.
        good: what it was given.
        code: the pipeline's.
    """
    output = code.pipeline.intervals
    rows = taken_by(made, output)
    nothing_given = output.called_per_interval and makes_rows_of_nothing(made)
    if nothing_given and all(each.isEmpty() for each in good.values()):
        rows = rows.limit(0)
    return partitioned(rows, output)


def good_records(
    records: DataFrame, source: SourceCode, *, late: Column | None = None, counting: bool = False
) -> DataFrame:
    """Return the records that the transform is given.

    Args:
        records: the columns of `read_stream`, of the source's topic.
        source: what is done with them.
        late: see `result_rows`.
        counting: let each batch of a stream report how many records are quarantined.

    Returns:
        The columns of `validate`: those of `read_stream`, the declared fields, and ours with `_` before their names.
        The event time carries the watermark.
    """
    value = source.value
    taken = F.col(OUTCOME).isin(Outcome.GOOD.value, Outcome.CONTROL.value)
    if late is not None:  # a choice, not a disjunction: the outcome is worked out once
        taken = F.when(late, F.col(OUTCOME) != Outcome.QUARANTINED.value).otherwise(taken)
    validated = source.validated(records)
    accepted = (counting_quarantined(validated, source.topic.name) if counting else validated).where(taken)
    if source.delivered and not records.isStreaming:
        accepted = without_repetitions(accepted)
    marked = accepted.withWatermark(value.event_time, f"{int(source.time.delay.total_seconds())} seconds")
    # A heartbeat moves the watermark and must go no further. Naming the event time keeps Spark from pushing this
    # filter below the watermark, where the heartbeat would be lost.
    return marked.where(~is_heartbeat(value) | F.col(value.event_time).isNull())


def without_repetitions(records: DataFrame) -> DataFrame:
    """Return records without those that an output of this project has sent again after a crash: the first one stays.

    A repetition has the id of its original, which lies before it in the same partition, and the same event time: both
    are in every range of time that one of them is in.

    Args:
        records: of a batch, with the columns of `read_stream`.
    """
    of_delivery = F.filter("_headers", lambda header: header["key"] == ID)
    name = F.coalesce(of_delivery[0]["value"].cast("string"), F.concat(F.lit("no delivery, "), F.col("_offset")))
    first = Window.partitionBy("_topic_id", "_partition", name).orderBy("_offset")
    return records.withColumn(_REPETITION, F.row_number().over(first) > 1).where(~F.col(_REPETITION)).drop(_REPETITION)


def transformed(good: Mapping[str, DataFrame], code: PipelineCode) -> DataFrame:
    """Return the rows that the transform makes of good records.

    Args:
        good: see `good_records`, by topic; the transform gets the columns of `SourceCode.given` alone. Of a settled
            table its rows.
        code: the pipeline's.

    Returns:
        The transform's own columns.
    """
    return called(good, code).rows


def called(good: Mapping[str, DataFrame], code: PipelineCode) -> Called:
    """Call the transform; see `transformed`.

    Raises:
        SpecError: it does not return what a pipeline that carries tables returns.
    """
    records = {source.name: source.given(good[t]) for t, source in code.sources.items()}
    given = {**records, **{table.name: good[t] for t, table in code.tables.items()}}
    if not code.carries:
        return Called(code.transform(given, code.static))
    return call_carrying(code.pipeline, code.transform, given, code.static, states=code.states)


def partitioned(rows: DataFrame, output: IntervalsOutput) -> DataFrame:
    """Return the rows of an interval table with their partition column. The first one that belongs nowhere stops it.

    Args:
        rows: what the transform returns, with `output.time_column` (timestamp).
        output: the table.

    Returns:
        The same columns and, unless a row's time is the start of its interval, `INTERVAL` (timestamp).
    """
    belongs = _on_grid(output, output.window) if output.on_grid and output.window else _not_null(output)
    rows = rows.withColumn(output.time_column, belongs)
    if window_is_interval(output):
        return rows
    return rows.withColumn(INTERVAL, F.date_trunc(output.interval, F.col(output.time_column)))


def _not_null(output: IntervalsOutput) -> Column:
    time = F.col(output.time_column)
    refusal = F.lit(f"{output.table}: a row has no {output.time_column}, and lies in no interval without it.")
    return F.when(time.isNull(), F.raise_error(refusal).cast("timestamp")).otherwise(time)


def _on_grid(output: IntervalsOutput, window: timedelta) -> Column:
    """Return the column with the windows' starts, which is the partition column where a window is an interval."""
    start, length = F.col(output.time_column), format_duration(window)
    refusal = F.concat(
        F.lit(f"{output.table}: a row's {output.time_column} is "),
        start.cast("string"),
        F.lit(
            f" UTC, and windows of {length} begin every {length} from midnight UTC. Sliding and session windows and "
        ),
        F.lit("days of other time zones need a `lookback` or a `lookahead`."),
    )
    off_grid = F.pmod(F.unix_micros(start), F.lit(window // timedelta(microseconds=1))) != 0
    return F.when(off_grid, F.raise_error(refusal).cast("timestamp")).otherwise(start)


def partition_column(output: IntervalsOutput) -> str:
    """Return the column that the output table is partitioned by."""
    return output.time_column if window_is_interval(output) else INTERVAL


def window_is_interval(output: IntervalsOutput) -> bool:
    """Whether the time of a row is the start of its interval."""
    return output.on_grid and output.window == output.interval_length
