"""The raw table seen through validation: how many records are good, quarantined (and why), late or control.

Validation belongs to the pipeline and is recomputed from raw bytes wherever it is needed, so there is no table of
rejects that could disagree with today's rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.quality.census import Census, ReasonExample, Unexpected
from sluice.quality.reasons import Outcome, Reason, counts_of, details_of
from sluice.spark.checks.duplicates import find_duplicates
from sluice.spark.records.validation import DETAIL, OUTCOME, REASON, broken_expectations, validate
from sluice.spark.sinks.raw import raw_records
from sluice.specs.expectations.model import Expectation
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.storage.folder import Folder

_SAMPLE_BYTES = 120


def take_census(
    spark: SparkSession,
    raw_table: Folder,
    topic: TopicSpec,
    pipeline: PipelineSpec,
    expected: Sequence[Expectation] = (),
) -> Census:
    """Recompute validation over the raw table, in one pass; in a second one records are compared by their event id."""
    stored = spark.read.format("delta").load(str(raw_table))
    validated = validate(raw_records(stored), topic.value, pipeline.time_of(topic.name), expected)
    breaking = enumerate(column for _, column in broken_expectations(expected, topic.value))
    broken = [F.count_if(column).alias(f"broken_{number}") for number, column in breaking]
    place = F.struct("_partition", "_offset", F.substring("_value", 1, _SAMPLE_BYTES).alias("value"))
    quarantined = F.col(OUTCOME) == Outcome.QUARANTINED.value
    groups = (
        validated.groupBy(OUTCOME, REASON, DETAIL)
        .agg(F.count("*").alias("records"), F.min(F.when(quarantined, place)).alias("sample"), *broken)
        .collect()
    )
    outcomes = {outcome: sum(g.records for g in groups if g[OUTCOME] == outcome.value) for outcome in Outcome}
    refused = [group for group in groups if group[REASON] is not None]
    counted = [(Reason(group[REASON]), group[DETAIL], group.records) for group in refused]
    reasons = counts_of(counted)
    whole = [group for group in groups if group[REASON] in (None, Reason.UNEXPECTED.value)]
    return Census(
        pipeline=pipeline.name,
        records=sum(outcomes.values()),
        undecodable=stored.where(~F.col("decodes")).count(),
        outcomes=outcomes,
        reasons=reasons,
        samples=tuple(
            _sample(reason, min(g.sample for g in refused if g[REASON] == reason.value)) for reason in reasons
        ),
        unexpected=tuple(
            Unexpected(each.expect, each.subject, each.severity, sum(group[f"broken_{number}"] for group in whole))
            for number, each in enumerate(expected)
        ),
        duplicates=find_duplicates(validated, topic.value),
        details=details_of(counted),
    )


def _sample(reason: Reason, place: Row) -> ReasonExample:
    value = None if place.value is None else bytes(place.value).decode("utf-8", errors="replace")
    return ReasonExample(reason, place["_partition"], place["_offset"], value)
