"""How many offsets of many ranges a raw table holds: what the offsets of every interval are counted by.

Ranges of intervals overlap, since records come out of order. So each offset is read once, and a range is the difference
of two running totals: the work does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sluice.delta.conditions import at_offsets
from sluice.delta.reading import dataset_of
from sluice.intervals.backfill.conservation import PartitionKey
from sluice.intervals.record_positions import OffsetRange
from sluice.storage.folder import Folder

WINDOW = 1 << 22
"""Offsets that are counted at once; some 50 MB."""


@dataclass(frozen=True)
class OffsetCount:
    """What a raw table holds of a range of offsets.

    Attributes:
        found: offsets that are there.
        repeated: rows beyond the first of an offset.
    """

    found: int
    repeated: int


def count_offsets(
    folder: Folder, version: int, key: PartitionKey, ranges: Sequence[OffsetRange], *, window: int = WINDOW
) -> list[OffsetCount]:
    """Count the offsets of one partition within ranges, which may overlap.

    Args:
        folder: of the raw table.
        version: of it.
        key: the topic's id and the partition.
        ranges: first and last offset of each, at least one.
        window: offsets that are held at once.

    Raises:
        NotReadyError: there is no table.
        CorruptionError: its log cannot be read.
    """
    table, (topic, partition) = dataset_of(folder, version), key
    ends = np.array(ranges, np.int64)
    first, beyond = ends[:, 0], ends[:, 1] + 1
    found, repeated = np.zeros(len(ends), np.int64), np.zeros(len(ends), np.int64)
    for begin in range(int(first.min()), int(beyond.max()), window):
        span = begin, min(begin + window, int(beyond.max())) - 1
        times = np.zeros(span[1] - begin + 1, np.int32)
        for batch in table.scanner(columns=["offset"], filter=at_offsets(topic, partition, span)).to_batches():
            if batch.num_rows:
                _add(times, batch.column("offset").to_numpy() - begin)
        low, high = (np.clip(each - begin, 0, len(times)) for each in (first, beyond))
        there, again = _running(times > 0), _running(np.maximum(times - 1, 0))
        found += there[high] - there[low]
        repeated += again[high] - again[low]
    return [OffsetCount(int(each), int(more)) for each, more in zip(found, repeated, strict=True)]


def _add(times: npt.NDArray[np.int32], places: npt.NDArray[np.int64]) -> None:
    low = int(places.min())
    counted = np.bincount(places - low)
    times[low : low + len(counted)] += counted.astype(np.int32)


def _running(values: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """Return the sums of the values before each place, and of all of them."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(values, dtype=np.int64)])
