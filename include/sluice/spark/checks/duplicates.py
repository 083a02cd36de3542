"""Duplicates in a raw table, by the event id that its topic declares. They are told apart, and stay what they are."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.quality.duplicates import Duplicate, Duplicates, Repeated
from sluice.quality.reasons import Outcome
from sluice.spark.records.validation import OUTCOME
from sluice.specs.model.model import TopicValue
from sluice.topics.records import RecordPosition


def find_duplicates(validated: DataFrame, value: TopicValue) -> Duplicates | None:
    """Compare the good and late records of a topic; None where it declares no event id.

    Memory does not grow with the number of records of one event.

    Args:
        validated: what `validate` returns over all records of the topic, with the fields of the event id.
        value: the declaration.
    """
    if value.event_id is None:
        return None
    place = F.struct("_topic_id", "_partition", "_offset")
    versions = (  # an event's records, grouped by their bytes
        validated.where(F.col(OUTCOME).isin(Outcome.GOOD.value, Outcome.LATE.value))
        .groupBy(*value.event_id, F.sha2("_value", 256).alias("_digest"))
        .agg(F.count("*").alias("_records"), F.min(place).alias("_first"), F.max(place).alias("_last"))
    )
    again = F.when(F.col("_records") > 1, F.struct(F.col("_first").alias("first"), F.col("_last").alias("other")))
    events = (
        versions.groupBy(*value.event_id)
        .agg(
            F.sum("_records").alias("_records"),
            F.count("*").alias("_versions"),
            F.min(again).alias("_again"),
            F.struct(F.min("_first").alias("first"), F.max("_first").alias("other")).alias("_apart"),
        )
        .where(F.col("_records") > 1)
    )
    (found,) = events.agg(
        F.count("*").alias("events"),
        F.coalesce(F.sum(F.col("_records") - F.col("_versions")), F.lit(0)).alias("retries"),
        F.coalesce(F.sum(F.col("_versions") - 1), F.lit(0)).alias("conflicts"),
        F.min("_again").alias("retry"),
        F.min(F.when(F.col("_versions") > 1, F.col("_apart"))).alias("conflict"),
    ).collect()
    kinds = (
        _repeated(Duplicate.RETRY, found.retries, found.retry),
        _repeated(Duplicate.CONFLICT, found.conflicts, found.conflict),
    )
    return Duplicates(value.event_id, found.events, tuple(each for each in kinds if each is not None))


def _repeated(kind: Duplicate, records: int, shown: Row | None) -> Repeated | None:
    return None if shown is None else Repeated(kind, records, _place(shown["first"]), _place(shown["other"]))


def _place(of: Row) -> RecordPosition:
    return RecordPosition(of["_partition"], of["_offset"])
