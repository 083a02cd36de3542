"""What a stream has behind it, read again as a batch: from the raw table, or from Kafka where that lags."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.log import newest_stream_entry
from sluice.intervals.reach import covers
from sluice.intervals.writers import count_alike
from sluice.spark.records.instants import instant
from sluice.spark.records.kafka_source import EARLIEST, KafkaTopic, own_offsets, read_between
from sluice.spark.records.pipeline import SourceCode, good_records
from sluice.spark.sinks.raw import empty_raw_rows, raw_records, raw_writer
from sluice.storage.folder import Folder


class SourceHistory:
    """The records of one topic of a pipeline.

    Args:
        spark: the session.
        source: says what a good record is.
        topic: where they are in Kafka.
        raw: the folder of its raw table, which may not be there yet.
    """

    def __init__(self, spark: SparkSession, source: SourceCode, topic: KafkaTopic, raw: Folder) -> None:
        self._spark = spark
        self._source = source
        self._topic = topic
        self._raw = raw

    def newest_before(self, origin: Mapping[str, int]) -> datetime | None:
        """Return the newest event time (UTC) of the good records that a lineage does not read; None if there are none.

        They are in the raw table, as far as that goes, and beyond it in Kafka: a lineage may begin where a user
        wanted it to, and before the raw table has anything. What neither has any more cannot be waited for.

        Args:
            origin: the offsets at which the lineage begins; those of other topics do not matter.
        """
        origin = own_offsets(origin, self._topic.name)
        ends = self._raw_ends()
        stored = {partition: min(end, ends[partition]) for partition, end in origin.items() if ends.get(partition)}
        beyond = {partition: end for partition, end in origin.items() if end > ends.get(partition, 0)}
        sources = [self._in_raw_table({}, stored)] if any(stored.values()) else []
        if beyond:
            start = {partition: ends.get(partition, EARLIEST) for partition in beyond}
            sources.append(read_between(self._spark, self._topic, start, beyond, whole=False))
        found = (self._newest(good_records(records, self._source)) for records in sources)
        return max((newest for newest in found if newest is not None), default=None)

    def _newest(self, good: DataFrame) -> datetime | None:
        newest = good.agg(F.max(F.unix_micros(self._source.value.event_time))).collect()[0][0]
        return None if newest is None else instant(newest)

    def between(self, start: Mapping[str, int], end: Mapping[str, int]) -> DataFrame:
        """Return the records of a range of offsets, whatever validation makes of them; other topics' do not matter.

        Args:
            start: first offsets.
            end: next offsets.
        """
        end = own_offsets(end, self._topic.name)
        if not end:  # nothing of this topic was planned yet
            return raw_records(empty_raw_rows(self._spark))
        if covers(self._raw_ends(), end):  # the topic may be trimmed meanwhile
            return self._in_raw_table(start, end)
        return read_between(self._spark, self._topic, start, end)

    def _raw_ends(self) -> Mapping[str, int]:
        newest = newest_stream_entry(self._raw)
        return newest.end if newest is not None and count_alike(newest.writer, raw_writer(self._topic)) else {}

    def _in_raw_table(self, start: Mapping[str, int], end: Mapping[str, int]) -> DataFrame:
        inside = reduce(or_, (_inside(partition, start.get(partition, 0), e) for partition, e in end.items()))
        return raw_records(self._stored().where((F.col("topic_id") == self._topic.topic_id) & inside))

    def _stored(self) -> DataFrame:
        return self._spark.read.format("delta").load(str(self._raw))


def _inside(partition: str, first: int, end: int) -> Column:
    number = int(partition.rpartition("/")[2])
    return (F.col("partition") == number) & (F.col("offset") >= first) & (F.col("offset") < end)
