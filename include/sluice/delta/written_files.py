"""Parquet files that Spark has written, as delta-rs adds them to a table: their statistics come from their footers.

Spark's own writer for Delta plans a query over the table's log before it writes and another one after it, and takes
the statistics row by row. A footer has them already.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.transaction import AddAction

from sluice.delta.reading import arrow_files
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.folder import Folder, StoredFile, files_in, remove_folder, untouched_since

_DRAFTS = "_drafts"
"""Delta readers and `vacuum` pass over names that begin so."""
_CHARACTERS, _HIGHEST = 32, "\U0010ffff"
"""Of a text a log holds no more than its beginning."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_DAY = 24 * 60 * 60 * 1_000_000
"""Microseconds."""


@contextmanager
def draft_folder(table: Folder) -> Iterator[Folder]:
    """Yield a new folder inside a table's own, for files that are to be put into the table; it is removed at the end.

    Executors see it, wherever they run. From there a rename moves a file; in a bucket the store copies it.
    """
    folder = table / _DRAFTS / uuid4().hex
    try:
        yield folder
    finally:
        remove_folder(folder)


@contextmanager
def _own_draft(table: Folder) -> Iterator[Path]:
    """Yield a new folder of this machine for what this process writes: that of `draft_folder`, or a temporary one."""
    if isinstance(table, BucketFolder):  # what is uploaded from there needs no copy
        with TemporaryDirectory(prefix="sluice-draft-", ignore_cleanup_errors=True) as temporary:
            yield Path(temporary) / "table"
        return
    with draft_folder(table) as draft:
        yield Path(str(draft))


def old_drafts(table: Folder, before: datetime) -> list[Folder]:
    """Return the folders of drafts that a killed writer has left, untouched since a time (UTC)."""
    return untouched_since(table / _DRAFTS, before)


def moved_into(table: Folder, draft: Folder) -> list[AddAction]:
    """Move the files of a draft into their table's folder, and return what a commit says of them.

    Args:
        table: its folder, without partitions.
        draft: a folder with Parquet files, see `draft_folder`; those without rows stay.
    """
    found, files = sorted(files_in(draft, ".parquet"), key=lambda file: file.place.name), arrow_files(draft)
    footers = [(file, pq.read_metadata(file.place.name, filesystem=files)) for file in found]
    return [_moved(file, table, footer) for file, footer in footers if footer.num_rows]


def _moved(file: StoredFile, table: Folder, footer: pq.FileMetaData) -> AddAction:
    place = file.place
    target = table / f"{place.parent.name}-{place.name}"  # never a name that the table has already
    _put(place, target)
    at = int(file.modified.timestamp() * 1000)
    return AddAction(target.name, file.size, {}, at, True, statistics(footer))


def _put(file: Folder, target: Folder) -> None:
    match file, target:
        case BucketFolder(), BucketFolder():
            file.copy_to(target)
        case Path(), BucketFolder():
            target.upload(file)
        case Path(), Path():
            file.rename(target)
        case _:
            raise AssertionError(f"the draft {file} of a table on a disk is in a bucket")


def written_partitions(table: Folder, column: str, rows: pa.RecordBatchReader) -> list[AddAction]:
    """Write rows to new files in the table's folder, which no commit names yet, and return what a commit says of them.

    Args:
        table: its folder.
        column: the table's partition column, the only one.
        rows: with the columns of the table.
    """
    with _own_draft(table) as draft:
        write_deltalake(str(draft), rows, partition_by=[column])
        first = draft / "_delta_log" / f"{0:020}.json"
        commit = [json.loads(line) for line in first.read_text(encoding="utf-8").splitlines()]
        return [_moved_as_logged(each["add"], draft, table) for each in commit if "add" in each]


def _moved_as_logged(add: Mapping[str, Any], draft: Path, table: Folder) -> AddAction:
    """Move a file from its own table to the same path in another one."""
    path = unquote(add["path"])
    (table / path).parent.mkdir(exist_ok=True)
    _put(draft / path, table / path)
    return AddAction(path, add["size"], add["partitionValues"], add["modificationTime"], True, add["stats"])


def replace_partitions(
    table: DeltaTable, column: str, starts: Iterable[datetime], files: Sequence[AddAction], properties: CommitProperties
) -> None:
    """Make one commit that takes away the files of some partitions and adds others.

    Args:
        table: at the version that was checked; `properties` say what happens if there is a newer one.
        column: its partition column, of timestamps.
        starts: its values (UTC), those without new files included.
        files: in the table's folder.
        properties: of the commit.

    Raises:
        CommitFailedError: another writer was quicker.
    """
    values = [f"{start.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}" for start in starts]
    table.create_write_transaction(
        list(files),
        "overwrite",
        table.schema(),
        partition_by=[column],
        partition_filters=[(column, "in", values)],
        commit_properties=properties,
    )


def statistics(metadata: pq.FileMetaData) -> str:
    """Return what Delta's log says of a Parquet file: how many rows, and nulls and bounds of its plain columns.

    Either every column has bounds that holds something, or the file has only its rows: where a log knows the bounds of
    one column and not of another, delta-rs passes over the file when a reader filters by that other one.
    """
    known: dict[str, Any] = {"numRecords": metadata.num_rows}
    columns = {metadata.schema.column(number).path: _column(metadata, number) for number in range(metadata.num_columns)}
    plain = {name: column for name, column in columns.items() if "." not in name and column is not None}
    if all(column.is_bounded for column in plain.values()):
        known["minValues"] = {name: column.least for name, column in plain.items() if column.filled}
        known["maxValues"] = {name: column.greatest for name, column in plain.items() if column.filled}
        known["nullCount"] = {name: metadata.num_rows - column.filled for name, column in plain.items()}
    return json.dumps(known, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True)
class _Column:
    """What a footer knows of a column.

    Attributes:
        filled: values that are not null.
        least: as Delta spells it; None if that is not known.
        greatest: the same.
    """

    filled: int
    least: Any
    greatest: Any

    @property
    def is_bounded(self) -> bool:
        return not self.filled or None not in (self.least, self.greatest)


def _column(metadata: pq.FileMetaData, number: int) -> _Column | None:
    """Return what is known of a column; None of one of bytes, which has no bounds in any log."""
    schema = metadata.schema.column(number)
    logical = json.loads(schema.logical_type.to_json())
    kind = schema.physical_type if logical["Type"] == "None" else logical["Type"]
    if kind == "BYTE_ARRAY":
        return None
    groups = [metadata.row_group(group).column(number).statistics for group in range(metadata.num_row_groups)]
    if not all(group is not None and group.has_null_count for group in groups):
        return _Column(metadata.num_rows, None, None)
    filled = [group for group in groups if group.num_values]
    count = sum(group.num_values for group in filled)
    if not filled or kind not in _SPELLINGS or not all(group.has_min_max for group in filled) or _is_foreign(logical):
        return _Column(count, None, None)
    least, greatest = min(group.min_raw for group in filled), max(group.max_raw for group in filled)
    low, high = _SPELLINGS[kind]
    return _Column(count, low(least), high(greatest))


def _is_foreign(logical: Mapping[str, Any]) -> bool:
    """Whether times are counted otherwise than Spark does it here: in microseconds of UTC."""
    times = logical["Type"] == "Timestamp"
    return times and not (logical["isAdjustedToUTC"] and logical["timeUnit"] == "microseconds")


def _same(value: int) -> int:
    return value


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _moment(microseconds: int) -> str:
    """Return a time; one that a producer made up far beyond the calendar is as good as the calendar's last."""
    within = min(max(microseconds, _FIRST), _LAST)
    return f"{(_EPOCH + timedelta(microseconds=within)).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _day(days: int) -> str:
    return (_EPOCH + timedelta(days=min(max(days, _FIRST // _DAY), _LAST // _DAY))).date().isoformat()


def _beginning(text: bytes) -> str | None:
    whole = _text(text)
    return None if whole is None else whole[:_CHARACTERS]


def _beyond(text: bytes) -> str | None:
    """Return a text, or the beginning of a long one with the last of all characters behind it: no less than it."""
    whole = _text(text)
    if whole is None or len(whole) <= _CHARACTERS:
        return whole
    rest = whole[_CHARACTERS:]
    return whole[:_CHARACTERS] + _HIGHEST * (1 + len(rest) - len(rest.lstrip(_HIGHEST)))


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


_SPELLINGS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    **dict.fromkeys(("INT32", "INT64", "Int", "BOOLEAN"), (_same, _same)),
    **dict.fromkeys(("FLOAT", "DOUBLE"), (_finite, _finite)),
    "Timestamp": (_moment, _moment),
    "Date": (_day, _day),
    "String": (_beginning, _beyond),
}
"""How Delta writes the least and the greatest value of a column, by Parquet's types."""
