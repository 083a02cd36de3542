"""Comparing the raw table behind some intervals with Kafka: what the recomputation of a raw table cannot find."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from sluice.delta.raw.raw_records import DeltaRawRecords
from sluice.intervals.alignment import contiguous
from sluice.intervals.backfill.conservation import KafkaRecords, compare_with_kafka
from sluice.intervals.backfill.raw_parity import RawParity
from sluice.intervals.ledger import LedgerRow
from sluice.project.project import Project
from sluice.settling.rules import SettlingRules
from sluice.spark.backfill.examination import ChunkExaminer

_PATIENCE_SECONDS = 5.0


def check_raw(project: Project, examiner: ChunkExaminer, rows: Sequence[LedgerRow], seed: str) -> RawParity | None:
    """Compare the records that some intervals are made of with Kafka; it may be out of reach, which is then said.

    Args:
        project: knows the way to Kafka.
        examiner: has pinned the raw tables.
        rows: the intervals.
        seed: chooses the records whose bytes are compared.
    """
    each = (_check_topic(project, examiner, rows, seed, topic) for topic in examiner.code.sources)
    return RawParity.joined(each)


def _check_topic(
    project: Project, examiner: ChunkExaminer, rows: Sequence[LedgerRow], seed: str, topic: str
) -> RawParity:
    raw, rules = examiner.raw[topic], SettlingRules.of(examiner.code.pipeline, topic)
    times = [rules.read_range(intervals) for intervals in contiguous(row.interval for row in rows)]
    with ExitStack() as opened:

        def kafka() -> KafkaRecords:
            return opened.enter_context(project.kafka.stored_records(topic, patience_seconds=_PATIENCE_SECONDS))

        records = DeltaRawRecords(raw.folder, raw.version)
        return compare_with_kafka(records, kafka, raw.position, times, topic=topic, seed=seed)
