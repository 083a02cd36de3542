"""One record of a raw table and its copies, and the commits by which streams passed it; without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from sluice.delta.conditions import instant_scalar
from sluice.delta.log import newest_first
from sluice.delta.reading import dataset_of
from sluice.errors import NotReadyError
from sluice.intervals.entries import Logged, StreamEntry
from sluice.intervals.record_positions import TopicPosition
from sluice.intervals.writers import topic_of
from sluice.storage.folder import Folder
from sluice.topics.json_object import read_broker_time
from sluice.tracing.address import RecordAddress
from sluice.tracing.storage import BatchCommit, StoredRow

MOST_ALIKE = 50_000
"""Records of one event time that are compared with one."""
_FILE = "__filename"
_PLACE = ["topic_id", "partition", "offset"]
_CONTENT = ["timestamp", "key", "value", "headers", "event_time", "arrival_time", "decodes"]


def rows_of(folder: Folder, address: RecordAddress) -> list[StoredRow]:
    """Return what a raw table has at an address, one for each topic that bore the name; none if there is no table.

    Raises:
        CorruptionError: its log cannot be read.
    """
    if (rows := _dataset(folder)) is None:
        return []
    names = [name for name in ("topic_id", *_CONTENT) if name in rows.schema.names]
    here = _of_partition(address.partition) & (ds.field("offset") == address.offset)
    found = rows.scanner(columns=[*names, _FILE], filter=here).to_table()
    number = found.schema.get_field_index("timestamp")  # a record may have one that Python's calendar has not
    found = found.set_column(number, "timestamp", found.column(number).cast(pa.int64()))
    return [_stored(row) for row in found.to_pylist()]


def first_offset(folder: Folder, topic_id: str, partition: int) -> int | None:
    """Return the first offset of a partition that a raw table holds; None if it holds none."""
    if (rows := _dataset(folder)) is None:
        return None
    own = _of_partition(partition) & (ds.field("topic_id") == topic_id)
    offsets = rows.scanner(columns=["offset"], filter=own).to_table().group_by([]).aggregate([("offset", "min")])
    first = offsets.column("offset_min")[0].as_py()
    return None if first is None else int(first)


def alike(folder: Folder, record: StoredRow, wanted: Callable[[bytes | None], bool]) -> Iterator[TopicPosition]:
    """Yield where the records of a record's event time are whose values are wanted, itself among them.

    Args:
        folder: of the raw table.
        record: the record, which has an event time.
        wanted: whether a value is.
    """
    rows = _dataset(folder)
    if rows is None or record.event_time is None:
        return
    then = ds.field("event_time") == instant_scalar(record.event_time)
    found = rows.scanner(columns=[*_PLACE, "value"], filter=then).head(MOST_ALIKE)
    for row in found.to_pylist():
        if wanted(row["value"]):
            yield row["topic_id"], row["partition"], row["offset"]


def times_reaching_to(folder: Folder, event: datetime, *, since: str, until: str) -> set[datetime]:
    """Return the times (UTC) of the rows of a table whose range of time holds an instant; none if there is no table.

    Args:
        folder: of the table.
        event: the instant.
        since: the column that says when a row begins.
        until: the column with its time, which is when it ends.

    Raises:
        CorruptionError: its log cannot be read.
    """
    if (rows := _dataset(folder)) is None:
        return set()
    at = instant_scalar(event)
    inside = (ds.field(since) <= at) & (ds.field(until) >= at)
    times = pc.unique(rows.scanner(columns=[until], filter=inside).to_table().column(until))
    return {time.astimezone(UTC) for time in times.to_pylist()}


def batch_of(table: Folder, address: RecordAddress, topic_id: str) -> BatchCommit | None:
    """Return the commit by which a stream passed a record; None if it has not, or the log does not reach so far.

    Args:
        table: the folder of a table whose log says what a stream has read.
        address: of the record.
        topic_id: of the topic that it was appended to.

    Raises:
        CorruptionError: the log cannot be read.
    """
    found: Logged | None = None
    for logged in newest_first(table):
        entry = logged.entry
        if not isinstance(entry, StreamEntry) or topic_id not in topic_of(entry.writer).split("+"):
            continue
        if address.offset >= entry.end.get(address.key, 0):
            return None if found is None else _commit(found, logged)
        if entry.start.get(address.key, 0) <= address.offset:
            found = logged  # a batch that was cut again may begin below what another has written: the oldest counts
    return None if found is None else _commit(found, None)


def _commit(logged: Logged, before: Logged | None) -> BatchCommit:
    assert isinstance(logged.entry, StreamEntry)  # noqa: S101 - it was found as one
    entry, begun = logged.entry, None if before is None else before.at
    return BatchCommit(logged.version, logged.at, entry.generation, entry.batch_id, entry.code, begun)


def _dataset(folder: Folder) -> ds.Dataset | None:
    try:
        return dataset_of(folder)
    except NotReadyError:
        return None


def _of_partition(partition: int) -> ds.Expression:
    return ds.field("partition") == partition


def _stored(row: dict[str, Any]) -> StoredRow:
    sent = row["timestamp"]
    return StoredRow(
        topic_id=row["topic_id"],
        at=None if sent is None else read_broker_time(sent // 1000),
        key=row["key"],
        value=row["value"],
        headers=tuple((header["key"], header["value"]) for header in row["headers"] or ()),
        event_time=row.get("event_time"),
        arrival_time=row.get("arrival_time"),
        decodes=row.get("decodes"),
        file=PurePath(row[_FILE]).name,
    )
