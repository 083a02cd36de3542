"""Which offsets a table already holds, and what that makes of the next batch.

Every commit names its input: the end offsets per partition and the batch's watermark. What is covered is judged by
these ranges, never by a batch id (a re-cut batch reuses ids) and never by their sum alone (two positions can share a
sum). Partitions are `topic/partition`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Position:
    """How far a table goes: next offset per partition, and the watermark by which it was written."""

    offsets: Mapping[str, int] = field(default_factory=dict)
    watermark: datetime | None = None


NOWHERE = Position()
"""The position of a table without commits."""


class Fit(StrEnum):
    """How a batch relates to what a table holds."""

    NEXT = "next"  # it starts where the table ends
    COVERED = "covered"  # the table holds all of it: skip
    OVERLAP = "overlap"  # the table holds a part of it: keep that part out
    GAP = "gap"  # records between the table and the batch were never read


def fit(position: Position, start: Mapping[str, int], end: Position) -> Fit:
    """Judge the batch `(start, end]` against the table's position.

    Args:
        position: where the table ends.
        start: the batch's first offset per partition; a partition that is missing starts at 0.
        end: the batch's end offsets and watermark.
    """
    if not position.offsets:  # nothing is held: the first batch may start anywhere
        return Fit.NEXT
    partitions = sorted({*position.offsets, *start, *end.offsets})
    starts = [start.get(p, 0) for p in partitions]
    held = [position.offsets.get(p, 0) for p in partitions]
    ends = [end.offsets.get(p, s) for p, s in zip(partitions, starts, strict=True)]
    if all(e <= h for e, h in zip(ends, held, strict=True)) and _at(end.watermark) <= _at(position.watermark):
        return Fit.COVERED
    if any(s > h for s, h in zip(starts, held, strict=True)):
        return Fit.GAP
    return Fit.NEXT if starts == held else Fit.OVERLAP


def joined(position: Position, end: Position) -> Position:
    """Return where a table ends that held `position` and has taken a batch up to `end`.

    A batch that a new checkpoint cuts may end before what the table holds of one partition and after what it holds of
    another: the table never goes back, or what it holds would be taken for news.
    """
    offsets = {p: max(end.offsets.get(p, 0), position.offsets.get(p, 0)) for p in {**position.offsets, **end.offsets}}
    return Position(offsets, end.watermark)


def transaction_version(end: Mapping[str, int], *, has_input: bool) -> int:
    """Return the number that grows with every batch of a stream, also across checkpoints.

    Twice the sum of the end offsets; one more for a batch without input, which repeats offsets and still publishes.
    """
    return 2 * sum(end.values()) + (0 if has_input else 1)


def _at(watermark: datetime | None) -> datetime:
    return watermark or _EPOCH
