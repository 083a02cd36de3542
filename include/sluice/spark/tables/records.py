"""The records of a pipeline's topics and the rows of its tables behind given intervals, and what is made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StructType

from sluice.intervals.alignment import Interval, ranges_of
from sluice.intervals.backfill.bounds import IntervalBound, by_bound
from sluice.settling.rules import SettlingRules
from sluice.spark.records.pipeline import PipelineCode, good_input, partition_column, result_rows, rows_of
from sluice.spark.sinks.raw import raw_records
from sluice.spark.tables.continuation import Continuation, in_memory
from sluice.spark.tables.ranges import before, kept, within
from sluice.spark.tables.raw_table import RawTable
from sluice.spark.tables.source_records import AS_DECLARED, POSITION, SourceRecords, Variation, in_order, of_topic
from sluice.spark.tables.table_records import TableRecords
from sluice.spark.tables.upstream import UpstreamTable


class Records:
    """The records behind some intervals, each interval with a bound of its own.

    Args:
        spark: the session.
        raw: the pinned raw tables, by topic; of a settled table itself.
        code: what makes rows of them.
        bounds: what is taken of each interval, by its start.
        continuation: what the intervals are called in, where they hand on something.

    Attributes:
        length: of an interval.
        sources: the records of each topic.
        tables: the rows of each settled table.
    """

    def __init__(
        self,
        spark: SparkSession,
        raw: Mapping[str, RawTable],
        code: PipelineCode,
        bounds: Mapping[datetime, IntervalBound],
        continuation: Continuation | None = None,
    ) -> None:
        self._code = code
        self._continuation = continuation
        self._bounds = bounds
        self._rules = SettlingRules.of(code.pipeline)
        self.length = code.pipeline.intervals.interval_length
        self.sources = {topic: self._source(spark, raw[topic], topic) for topic in code.sources}
        self.tables = {name: self._table(spark, raw[name], name) for name in code.tables}

    def _source(self, spark: SparkSession, raw: RawTable, topic: str) -> SourceRecords:
        rules, output = SettlingRules.of(self._code.pipeline, topic), self._code.pipeline.intervals
        return SourceRecords(spark, raw, self._code.sources[topic], self._bounds_of(topic), rules=rules, output=output)

    def _table(self, spark: SparkSession, pinned: RawTable, name: str) -> TableRecords:
        rules, table = SettlingRules.of(self._code.pipeline, name), self._code.tables[name]
        return TableRecords(name, UpstreamTable(spark, pinned.folder, table), pinned, self._bounds_of(name), rules)

    def _bounds_of(self, name: str) -> Mapping[datetime, IntervalBound]:
        return {start: self._own(bound, name) for start, bound in self._bounds.items()}

    @property
    def rows(self) -> DataFrame:
        """The records in the intervals, as the raw tables hold them; `topic_id` tells whose they are. At least of one.

        Rows of settled tables are no records: nothing here is said of them.
        """
        return reduce(DataFrame.unionByName, (source.rows for source in self.sources.values()))

    @property
    def schema(self) -> StructType:
        """Of `results`."""
        return self._nothing().schema

    def results(self, variation: Variation = AS_DECLARED) -> Iterator[DataFrame]:
        """Yield the rows that the code makes of the records: those of the intervals, and maybe further ones.

        Where rows are made of the records of their own interval, they are not cut off here: Spark would push the
        condition below the aggregation, and judge every record.

        Yields:
            Once, but where a call of the transform is given one interval: then once per interval with records, if any.
        """
        if self._rules.per_interval:
            with_records = {start for source in self._each for start in source.with_records(variation)}
            for start in sorted(with_records):
                yield self._results_of(self._bounds[start], [start], variation)
        elif self.is_joined:
            groups = [self._results_of(bound, starts, variation) for bound, starts in by_bound(self._bounds)]
            yield reduce(DataFrame.unionByName, groups) if groups else self._nothing()
        else:
            ((topic, source),) = self.sources.items()
            records = raw_records(in_order(source.rows, variation, *POSITION))
            yield result_rows({topic: records}, self._code, late={topic: source.late})

    @property
    def is_joined(self) -> bool:
        """Whether rows are made of records of several topics, or of several intervals."""
        return bool(len(self.sources) > 1 or self.tables or self._rules.lookback or self._rules.lookahead)

    def unreadable(self) -> dict[datetime, str]:
        """Return which intervals are made of rows that a settled table does not have any more, with the reason."""
        return {start: why for table in self.tables.values() for start, why in table.unreadable().items()}

    def result(self, variation: Variation = AS_DECLARED) -> DataFrame:
        """Return all of `results` as one: of few intervals."""
        return reduce(DataFrame.unionByName, self.results(variation), self._nothing())

    def cut_off(self, variation: Variation) -> str:
        """Return the SQL condition that a row of `results` may lack records from before those that were read."""
        output, parts = self._code.pipeline.intervals, []
        if output.since_column is None:
            return "false"
        if self._rules.per_interval:
            half = variation.breadth * self._rules.lookback // timedelta(microseconds=2)
            return f"unix_micros(`{output.since_column}`) < unix_micros(`{partition_column(output)}`) - {half}"
        for _, starts in by_bound(self._bounds):
            for target in ranges_of(starts, self.length):
                own = within(partition_column(output), [target])
                begun = self._rules.read_range(target, variation.breadth).start
                near = before(output.since_column, begun + variation.breadth * self._rules.lookback / 2)
                parts.append(f"(({own}) AND {near})")
        return " OR ".join(parts)

    def beside_floor(self, raw: Mapping[str, RawTable]) -> str | None:
        """Return the SQL condition that a row begins so close to a floor that records of it may have been removed.

        None where no row may: nothing was removed, or rows reach no further back than declared.
        """
        since = self._code.pipeline.intervals.since_column
        floors = [table.floor.at for table in raw.values() if table.floor is not None]
        return before(since, max(floors) + self._rules.lookback / 2) if since is not None and floors else None

    def _results_of(self, bound: IntervalBound, starts: Sequence[datetime], variation: Variation) -> DataFrame:
        """Return the rows of intervals with one bound, which holds for all that they are made of."""
        records = {
            topic: raw_records(source.of_bound(self._own(bound, topic), starts, variation))
            for topic, source in self.sources.items()
        }
        late = dict.fromkeys(records, F.lit(bound.late))
        tables = {name: t.of_bound(self._own(bound, name), starts, variation) for name, t in self.tables.items()}
        good = good_input({**records, **tables}, self._code, late=late)
        if self._continuation is None:
            made = rows_of(good, self._code)
        else:  # each call is given one interval
            made = self._continuation.call(starts[0], in_memory(good, self._code), self._code)
        return kept(made, within(partition_column(self._code.pipeline.intervals), ranges_of(starts, self.length)))

    def _own(self, bound: IntervalBound, topic: str) -> IntervalBound:
        return of_topic(bound, topic) if len(self._code.pipeline.reads) > 1 else bound

    @property
    def _each(self) -> tuple[SourceRecords | TableRecords, ...]:
        return (*self.sources.values(), *self.tables.values())

    def _nothing(self) -> DataFrame:
        records = {topic: raw_records(source.whole.limit(0)) for topic, source in self.sources.items()}
        return result_rows({**records, **{name: t.nothing for name, t in self.tables.items()}}, self._code)

    def count(self) -> int:
        """Count the records, whatever validation makes of them: cheap, from the columns beside their bytes."""
        return sum(source.rows.count() for source in self._each)

    def count_good(self) -> int:
        """Count what the transform is given; parses every record once more."""
        return sum(source.good.count() for source in self._each)

    def good_starts(self) -> DataFrame:
        """Return the starts of the intervals in which good records happened, a row each, as `start` (microseconds)."""
        each = (source.good.select(self.start(source.event_time).alias("start")) for source in self._each)
        return reduce(DataFrame.unionByName, each)

    def good_behind(self, interval: Interval) -> dict[str, DataFrame]:
        """Return what the transform is given for the rows of one of the intervals, by the sources' names."""
        bound = self._bounds[interval.start]
        return {
            self._code.sources[topic].name: source.good_behind(self._own(bound, topic), interval.start)
            for topic, source in self.sources.items()
        } | {
            self._code.tables[name].name: table.good_behind(self._own(bound, name), interval.start)
            for name, table in self.tables.items()
        }

    def start(self, instant: Column) -> Column:
        """Return the start of the interval that an instant lies in, in microseconds."""
        return F.unix_micros(F.date_trunc(self._code.pipeline.intervals.interval, instant))

    def count_late(self) -> dict[datetime, int]:
        """Count the late records that rows of each interval are made of, taken or not; those without any are left out.

        A record counts for every interval whose rows it may change.
        """
        counted = Counter[datetime]()
        for source in self.sources.values():
            counted.update(source.count_late())
        return dict(counted)
