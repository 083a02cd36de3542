"""What only Sluice has names for: expectations about intervals that need their records, bounds or other tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.raw.offset_counts import count_offsets
from sluice.intervals.backfill.conservation import PartitionKey
from sluice.intervals.record_positions import OffsetRange
from sluice.quality.measured import Measured
from sluice.spark.checks.interval_measures import START, Found, counted_rows, value_or_error
from sluice.spark.checks.references import References
from sluice.spark.records.content import named
from sluice.spark.records.instants import instant
from sluice.spark.tables.records import Records
from sluice.spark.tables.source_records import SourceRecords
from sluice.specs.expectations.model import Expectation
from sluice.specs.expectations.set_level import CountedArguments, Own, ReferenceArguments


def measure_records(
    rows: DataFrame,
    column: str,
    starts: Sequence[datetime],
    expectations: Sequence[Expectation],
    *,
    records: Records,
    references: References,
) -> dict[datetime, list[Found]]:
    """Measure Sluice's own expectations; each is a query of its own.

    Args:
        rows: of these intervals, with the columns of the output table; `column` is a timestamp.
        column: the partition column.
        starts: of the intervals (UTC).
        expectations: named in `sluice.specs.expectations.set_level.Own`.
        records: those behind the intervals.
        references: the tables that values are looked up in.

    Returns:
        For each interval, what was found of each expectation, in their order.
    """
    interval = _Intervals(rows.withColumn(START, F.unix_micros(named(column))), records, references)
    ask: dict[str, Callable[[Expectation], dict[datetime, Measured]]] = {
        Own.FRESH: interval.freshness,
        Own.OFFSETS: interval.offsets,
        Own.COUNTED: interval.counted,
        Own.REFERENCE: interval.referred,
    }
    measured = [value_or_error(ask[each.expect], each) for each in expectations]
    nothing = Measured(rows=0, unexpected=0)
    return {start: [one if isinstance(one, str) else one.get(start, nothing) for one in measured] for start in starts}


@dataclass(frozen=True)
class _Intervals:
    rows: DataFrame
    records: Records
    references: References

    def freshness(self, _: Expectation) -> dict[datetime, Measured]:
        """Measure the seconds between an interval's last record and its end."""
        records, length = self.records, self.records.length
        last = F.unix_micros(F.max("event_time")).alias("last")
        groups = records.rows.groupBy(records.start(F.col("event_time")).alias(START)).agg(
            last, F.count("*").alias("n")
        )
        return {
            start: Measured(row["n"], (start + length - instant(row["last"])).total_seconds())
            for row in groups.collect()
            for start in [instant(row[START])]
        }

    def offsets(self, _: Expectation) -> dict[datetime, Measured]:
        """Count the offsets that are missing, and those that are there more than once, between first and last."""
        totals: dict[datetime, _Offsets] = defaultdict(_Offsets)
        for source in self.records.sources.values():
            for key, spans in self._spans(source).items():
                counts = count_offsets(source.raw.folder, source.raw.version, key, [*spans.values()])
                for (start, (first, last)), counted in zip(spans.items(), counts, strict=True):
                    totals[start] += _Offsets(last - first + 1, counted.found, counted.repeated)
        return {start: offsets.measured for start, offsets in totals.items()}

    def _spans(self, source: SourceRecords) -> dict[PartitionKey, dict[datetime, OffsetRange]]:
        """Return the first and the last offset of each interval, by partition."""
        start = self.records.start(F.col("event_time")).alias(START)
        ends = F.min("offset").alias("first"), F.max("offset").alias("last")
        found: dict[PartitionKey, dict[datetime, OffsetRange]] = defaultdict(dict)
        for row in source.rows.groupBy(start, "topic_id", "partition").agg(*ends).collect():
            found[row["topic_id"], row["partition"]][instant(row[START])] = row["first"], row["last"]
        return found

    def counted(self, expectation: Expectation) -> dict[datetime, Measured]:
        """Compare the sum of a column with the number of good records."""
        column = CountedArguments.model_validate(expectation.kwargs).column
        total = F.count("*") if column == "*" else F.coalesce(F.sum(named(column)), F.lit(0))
        counted = {row[START]: int(row["n"]) for row in self.rows.groupBy(START).agg(total.alias("n")).collect()}
        good = {row["start"]: row["count"] for row in self.records.good_starts().groupBy("start").count().collect()}
        return {
            instant(at): Measured(
                counted.get(at, 0),
                float(counted.get(at, 0)),
                abs(counted.get(at, 0) - good.get(at, 0)),
                note=f"there are {good.get(at, 0):,} good records",
            )
            for at in counted.keys() | good.keys()
        }

    def referred(self, expectation: Expectation) -> dict[datetime, Measured]:
        """Count the rows whose value the reference does not have; nulls refer to nothing."""
        asked = ReferenceArguments.model_validate(expectation.kwargs)
        values = self.rows.select(START, named(asked.column).alias("_value")).where(F.col("_value").isNotNull())
        there = self.references.values(asked).withColumn("_known", F.lit(True))
        joined = values.join(there, values["_value"] == there["_there"], "left")
        unknown = F.col("_known").isNull()
        one = F.first(F.when(unknown, F.col("_value")), ignorenulls=True).cast("string").alias("one")
        groups = joined.groupBy(START).agg(F.count("*").alias("rows"), F.count_if(unknown).alias("bad"), one)
        return {instant(row[START]): counted_rows(row) for row in groups.collect()}


@dataclass(frozen=True)
class _Offsets:
    """Offsets between the first and the last one of an interval, in all partitions together.

    Attributes:
        wanted: how many there are.
        found: of them in the raw table.
        repeated: rows beyond the first of an offset.
    """

    wanted: int = 0
    found: int = 0
    repeated: int = 0

    def __add__(self, other: _Offsets) -> _Offsets:
        return _Offsets(self.wanted + other.wanted, self.found + other.found, self.repeated + other.repeated)

    @property
    def measured(self) -> Measured:
        missing, repeated = self.wanted - self.found, self.repeated
        note = f"of {self.wanted:,} offsets {missing:,} are missing and {repeated:,} are there again"
        return Measured(self.wanted, float(missing), repeated, note=note)
