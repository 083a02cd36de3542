"""The quarantine: the raw table seen through today's validation. Nothing is stored twice, so nothing can disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.errors import NotReadyError, SpecError
from sluice.intervals.record_positions import RecordPositions
from sluice.project.project import Project
from sluice.quality.quarantine import Browsed, Quarantined, QuarantineFilter, Revalidation
from sluice.quality.reasons import Outcome, Reason, counts_of, details_of
from sluice.spark.records.decoding import decode
from sluice.spark.records.instants import instant
from sluice.spark.records.offsets import positions_of, rows_at
from sluice.spark.records.pipeline import PipelineCode, SourceCode
from sluice.spark.records.validation import DETAIL, OUTCOME, REASON, broken_expectations
from sluice.spark.sinks.raw import happened, raw_records
from sluice.spark.tables.raw_table import RawTable
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.patches import Patch
from sluice.storage.folder import Folder

MAX_BYTES = 64 * 1024
"""Bytes of a key or a value that are brought here."""

_INTERVAL = "_interval"
_THEN = "_then"
_PLACE = ("_topic_id AS topic_id", "_partition AS partition", "_offset AS offset")


@dataclass(frozen=True)
class Quarantine:
    """What a pipeline's validation refuses of one topic.

    Attributes:
        spark: the session.
        raw: the pinned raw table.
        source: what is done with the topic's records, as it is today.
        pipeline: its spec.
    """

    spark: SparkSession
    raw: RawTable
    source: SourceCode
    pipeline: PipelineSpec

    def browse(self, selection: QuarantineFilter, limit: int) -> Browsed:
        """Count the records that were asked for, and return the newest ones."""
        quarantined = self._quarantined(selection)
        day = F.date_format("_timestamp", "yyyy-MM-dd").alias("day")
        groups = quarantined.groupBy(REASON, DETAIL, day).count().collect()
        counted = Counter[tuple[Reason, str]]()
        for row in groups:
            counted[Reason(row[REASON]), row["day"]] += row["count"]
        order = list(Reason)
        counts = dict(sorted(counted.items(), key=lambda each: (order.index(each[0][0]), each[0][1])))
        newest = quarantined.orderBy(F.desc("_timestamp"), F.desc("_partition"), F.desc("_offset")).limit(limit)
        details = details_of((Reason(row[REASON]), row[DETAIL], row["count"]) for row in groups)
        return Browsed(counts, tuple(self._record(row) for row in self._shown(newest).collect()), details)

    def one(self, partition: int, offset: int) -> Quarantined | None:
        """Return one record with all its bytes; None if it is not in quarantine, or not there."""
        quarantined = self._quarantined(QuarantineFilter(partition=partition, first=offset, last=offset)).orderBy(
            F.desc("_timestamp")
        )
        row = self._shown(quarantined, whole=True).first()
        return None if row is None else self._record(row)

    def positions(
        self, selection: QuarantineFilter
    ) -> tuple[RecordPositions, dict[Reason, int], dict[Reason, dict[str, int]]]:
        """Return where the records are that were asked for, how many for each reason, and with which fields at fault.

        Raises:
            RefusedError: they lie in too many ranges of offsets.
        """
        quarantined = self._quarantined(selection).selectExpr(*_PLACE, REASON, DETAIL)
        groups = [
            (Reason(row[REASON]), row[DETAIL], row["count"])
            for row in quarantined.groupBy(REASON, DETAIL).count().collect()
        ]
        return positions_of(quarantined), counts_of(groups), details_of(groups)

    def revalidate(self, positions: RecordPositions) -> Revalidation:
        """Return what today's rules make of records."""
        value, output = self.source.value, self.pipeline.intervals
        start = F.when(
            F.col(OUTCOME).isin(Outcome.GOOD.value, Outcome.LATE.value),
            F.unix_micros(F.date_trunc(output.interval, F.col(value.event_time))),
        )
        judged = self._validated(rows_at(self.raw.rows(self.spark), positions, self.spark)).withColumn(_INTERVAL, start)
        groups = judged.groupBy(OUTCOME, REASON, _INTERVAL).count().collect()
        quarantined = F.col(OUTCOME) == Outcome.QUARANTINED.value
        left = judged.where(quarantined).selectExpr(*_PLACE)
        intervals = {row[_INTERVAL] for row in groups if row[_INTERVAL] is not None}
        return Revalidation(
            outcomes={o: n for o in Outcome if (n := sum(r["count"] for r in groups if r[OUTCOME] == o.value))},
            reasons={r: n for r in Reason if (n := sum(row["count"] for row in groups if row[REASON] == r.value))},
            intervals={
                instant(start): sum(row["count"] for row in groups if row[_INTERVAL] == start)
                for start in sorted(intervals)
            },
            missing=positions.count - sum(row["count"] for row in groups),
            left=positions_of(left) if any(row[REASON] for row in groups) else RecordPositions(),
        )

    def with_patches(self, patches: Sequence[Patch]) -> Quarantine:
        """Return the quarantine as it would be with further patches."""
        topic = self.source.topic
        value = topic.value.model_copy(update={"patches": (*topic.value.patches, *patches)})
        return replace(self, source=replace(self.source, topic=topic.model_copy(update={"value": value})))

    def outside_their_interval(self, positions: RecordPositions) -> RecordPositions:
        """Return those of the records whose time in the raw table is not theirs: no interval finds them by it.

        They did not decode when they came, or a patch has changed their time.
        """
        value = self.source.value
        rows = rows_at(self.raw.rows(self.spark), positions, self.spark).withColumnRenamed("event_time", _THEN)
        decoded = decode(raw_records(rows, _THEN), value)
        return positions_of(decoded.where(~happened(value).eqNullSafe(F.col(_THEN))).selectExpr(*_PLACE))

    def _quarantined(self, selection: QuarantineFilter) -> DataFrame:
        rows = self.raw.rows(self.spark).where(condition(selection))
        wanted = F.col(OUTCOME) == Outcome.QUARANTINED.value
        if selection.reasons:
            wanted &= F.col(REASON).isin([reason.value for reason in selection.reasons])
        return self._validated(rows).where(wanted)

    def _validated(self, rows: DataFrame) -> DataFrame:
        return self.source.validated(raw_records(rows))

    def _shown(self, records: DataFrame, *, whole: bool = False) -> DataFrame:
        broken = [column for _, column in broken_expectations(self.source.expected, self.source.value)]
        key, value = (
            F.col(name) if whole else F.substring(name, 1, MAX_BYTES).alias(name) for name in ("_key", "_value")
        )
        return records.select(
            F.struct("_topic_id", "_partition", "_offset").alias("place"),
            F.unix_micros("_timestamp").alias("at"),
            F.col(REASON).alias("reason"),
            F.col(DETAIL).alias("detail"),
            F.array(*broken).alias("broken") if broken else F.array().cast("array<boolean>").alias("broken"),
            key.alias("key"),
            value.alias("value"),
            F.col("_headers").alias("headers"),
        )

    def _record(self, row: Row) -> Quarantined:
        reason = Reason(row["reason"])
        named = [f"{e.expect} ({e.subject})" for e, b in zip(self.source.expected, row["broken"], strict=True) if b]
        return Quarantined(
            position=tuple(row["place"]),
            at=instant(row["at"]).astimezone(UTC),
            reason=reason,
            broken=tuple(named) if reason is Reason.UNEXPECTED else (),
            detail=row["detail"],
            key=None if row["key"] is None else bytes(row["key"]),
            value=None if row["value"] is None else bytes(row["value"]),
            headers=tuple(
                (each["key"], None if each["value"] is None else bytes(each["value"])) for each in row["headers"] or ()
            ),
        )


def quarantine_of(project: Project, spark: SparkSession, code: PipelineCode, topic: str) -> Quarantine:
    """Return what a pipeline refuses of one of its topics, with the raw table as it is now.

    Raises:
        NotReadyError: there is no raw table yet.
    """
    return Quarantine(spark, _pinned(project, topic), code.sources[topic], code.pipeline)


def topic_of_records(project: Project, spec: PipelineSpec, positions: RecordPositions) -> str:
    """Return which of a pipeline's topics records are of.

    Raises:
        SpecError: of none of them.
    """
    ids = {topic_id for topic_id, _, _ in positions.pieces()}
    for topic in spec.topics:
        if len(spec.topics) == 1 or ids & set(project.tables.raw_position(topic).reach.topics):
            return topic
    raise SpecError(
        f"the records are of topics with the ids {', '.join(sorted(ids))}, and {spec.name} reads none of them.",
        fix="discard the case, and open one for what the pipeline reads now.",
    )


def pinned_raw(project: Project, spec: PipelineSpec) -> dict[str, RawTable]:
    """Return the raw tables of a pipeline's topics as they are now, by topic, and the settled tables that it reads.

    Raises:
        NotReadyError: there is none of one of them yet.
    """
    tables = {source.reads: project.folder.table(source.table) for source in spec.table_sources.values()}
    return {n: _pinned_table(project, n, tables[n]) if n in tables else _pinned(project, n) for n in spec.reads}


def _pinned_table(project: Project, name: str, folder: Folder) -> RawTable:
    position = project.tables.position(name)
    if position.version < 0:
        raise NotReadyError(f"no pipeline has settled {folder} yet.", fix="start the stream that settles it.")
    return RawTable(folder, position.version, position.reach)


def _pinned(project: Project, name: str) -> RawTable:
    topic = project.catalog.topics[name]
    return RawTable.pin(project.folder.table(topic.raw.table), project.tables.raw_position(name), topic)


def condition(selection: QuarantineFilter) -> Column:
    """Return what the raw table's own columns say; files are skipped by it."""
    parts: list[Column] = [F.lit(True)]
    if selection.since is not None:
        parts.append(F.col("timestamp") >= _literal(selection.since))
    if selection.until is not None:
        parts.append(F.col("timestamp") < _literal(selection.until))
    if selection.partition is not None:
        parts.append(F.col("partition") == selection.partition)
    if selection.first is not None:
        parts.append(F.col("offset") >= selection.first)
    if selection.last is not None:
        parts.append(F.col("offset") <= selection.last)
    return reduce(and_, parts)


def _literal(at: datetime) -> Column:
    return F.expr(f"timestamp'{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}'")
