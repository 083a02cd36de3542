"""When an interval is closed: the stream will not write it again, and the raw table holds all that is behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from sluice.intervals.alignment import Interval, closed_until, intervals_between
from sluice.streams.checkpoint import PlannedBatch


def settled_watermark(batches: Iterable[PlannedBatch], raw: Mapping[str, int]) -> datetime | None:
    """Return the watermark of the newest committed batch that the raw table has caught up with.

    Args:
        batches: the pipeline's committed batches, newest first.
        raw: next offset per `topic/partition` that the raw stream has committed.
    """
    for batch in batches:
        if all(raw.get(partition, 0) >= end for partition, end in batch.offsets.items()):
            return batch.watermark
    return None


def closed_intervals(
    first: datetime | None, watermark: datetime | None, length: timedelta, settle: timedelta
) -> list[Interval]:
    """Return the closed intervals from the first one that has rows; those without rows in between close too.

    Args:
        first: an instant in the first interval, or None if there are no rows.
        watermark: see `settled_watermark`.
        length: of an interval.
        settle: how long after its end an interval may still change.
    """
    if first is None or watermark is None:
        return []
    return list(intervals_between(first, closed_until(watermark, length, settle), length))
