"""Offsets of many overlapping ranges, counted in one pass, against counting each by itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from sluice.delta.raw.offset_counts import OffsetCount, count_offsets

_OFFSETS = st.integers(0, 40)
_RANGES = st.lists(st.tuples(_OFFSETS, _OFFSETS).map(lambda ends: (min(ends), max(ends))), min_size=1, max_size=8)


@given(st.lists(st.lists(_OFFSETS, max_size=30), min_size=1, max_size=3), _RANGES, st.integers(1, 50))
def test_each_range_has_the_count_that_it_has_alone(
    files: list[list[int]], ranges: list[tuple[int, int]], window: int
) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "raw"
        for offsets in files:
            write_deltalake(str(folder), raw_rows(offsets), mode="append")
        version = DeltaTable(str(folder)).version()
        write_deltalake(str(folder), raw_rows([0, 1, 2]), mode="append")  # of a later version
        found = count_offsets(folder, version, ("a", 1), ranges, window=window)
    times = Counter(offset for offsets in files for offset in offsets)
    assert found == [
        OffsetCount(
            sum(times[offset] > 0 for offset in range(first, last + 1)),
            sum(max(times[offset] - 1, 0) for offset in range(first, last + 1)),
        )
        for first, last in ranges
    ]


def raw_rows(offsets: list[int]) -> pa.Table:
    """Return rows of one partition, among those of another one and of a topic that had the same name."""
    others = [("a", 0, 7), ("b", 1, 7)]
    rows = [*(("a", 1, offset) for offset in offsets), *others]
    names, partitions, numbers = zip(*rows, strict=True)
    return pa.table(
        {
            "topic_id": pa.array(names, pa.string()),
            "partition": pa.array(partitions, pa.int32()),
            "offset": pa.array(numbers, pa.int64()),
        }
    )
