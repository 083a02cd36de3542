"""How many rows a table holds of a range of time, by its log alone: what a batch over them will cost."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from sluice.delta.reading import open_table
from sluice.errors import NotReadyError
from sluice.intervals.alignment import Interval
from sluice.storage.folder import Folder


def rows_at_most(folder: Folder, column: str, span: Interval | None) -> int:
    """Return a bound of the rows of a range: all rows of the files that may hold one of them.

    Args:
        folder: of the table; one that is not there holds no row.
        column: a timestamp. A file that does not say which of its values it holds may hold any.
        span: the range; None: all there is.
    """
    try:
        table = open_table(folder)
    except NotReadyError:
        return 0
    files = pa.table(table.get_add_actions(flatten=True))
    low, high = f"min.{column}", f"max.{column}"
    if span is not None and {low, high} <= set(files.column_names):
        before = pc.less(_known(files[high]), pa.scalar(span.start))
        after = pc.greater_equal(_known(files[low]), pa.scalar(span.end))
        files = files.filter(pc.invert(pc.fill_null(pc.or_kleene(before, after), fill_value=False)))
    return int(pc.sum(files["num_records"]).as_py() or 0)


def _known(times: pa.ChunkedArray) -> pa.ChunkedArray:
    return times.cast(pa.timestamp("us", tz="UTC"))


def bytes_and_rows(folder: Folder, column: str = "", since: datetime | None = None) -> tuple[int, int]:
    """Return what a table takes on disk and how many rows it has, by its log.

    Files that are no longer part of it, and wait for a vacuum, do not count. A folder without a table has nothing.

    Args:
        folder: of the table.
        column: by which it is partitioned, with times.
        since: only files of partitions from then on count (UTC); None: all.
    """
    try:
        table = open_table(folder)
    except NotReadyError:
        return 0, 0
    files = pa.table(table.get_add_actions(flatten=True))
    if since is not None:
        files = files.filter(pc.greater_equal(_known(files[f"partition.{column}"]), pa.scalar(since)))
    return int(pc.sum(files["size_bytes"]).as_py() or 0), int(pc.sum(files["num_records"]).as_py() or 0)
