"""The floor of a raw table, in the table itself, and the records below it, which are removed.

The floor is an application transaction, as the marks of generations are: every version of the table says it, an
append meanwhile meets no conflict, and no upkeep of the log forgets it. It is on record before the first record goes,
so a reader sees records missing in no version that does not say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, Transaction

from sluice.delta.conditions import beyond, instant_literal, instant_scalar
from sluice.delta.log import try_commit, write_no_files
from sluice.delta.reading import FLOOR, FLOOR_SINCE, dataset_of, floor_of, open_table
from sluice.delta.upkeep import COMPACT
from sluice.failpoints import failpoint
from sluice.intervals.raw_floor import RawFloor
from sluice.storage.folder import Folder

_BY_AGE = {"sluice": "raw.retention"}
"""What the history of a table says of a removal."""
_TRIES = 5
"""How often a removal begins again because somebody appended records that belong to it."""


def raise_floor(folder: Folder, floor: datetime, now: datetime) -> RawFloor:
    """Put a floor on record, and return what is on record then; one that is higher stays.

    Args:
        folder: of the raw table.
        floor: in whole seconds (UTC).
        now: the time (UTC).

    Raises:
        NotReadyError: there is no table.
    """
    table = open_table(folder)
    wanted = RawFloor(floor, now.replace(microsecond=0))
    while (found := floor_of(table)) is None or found.at < floor:
        marks = [Transaction(FLOOR, _seconds(wanted.at)), Transaction(FLOOR_SINCE, _seconds(wanted.since))]
        # Two rounds at once would write the same transactions, and delta-rs refuses the second.
        properties = CommitProperties(app_transactions=marks, max_commit_retries=0)
        try_commit(table, partial(write_no_files, table, properties))
        table.update_incremental()
    return found


def is_older(folder: Folder, floor: datetime, margin: timedelta) -> bool:
    """Return whether a table holds records that go below a floor; the arguments are those of `remove_below`."""
    return bool(dataset_of(folder).count_rows(filter=_below(floor, floor - margin)))


def remove_below(folder: Folder, floor: RawFloor, margin: timedelta) -> int:
    """Remove the records below the floor of a table, and return how many there were. May be repeated.

    An append wins: 0 is returned if records that belong to it came again and again, and the next round does it.

    A record goes if it happened before the floor and its timestamp in Kafka is older, too, by a margin. So what came
    late stays as long as what happened when it came, files of today are not rewritten, and a record whose own time is
    not known, or is wrong, goes by its timestamp.

    Args:
        folder: of the raw table.
        floor: that is on record.
        margin: how far a record's event may lie ahead of its timestamp.
    """
    if not is_older(folder, floor.at, margin):
        return 0
    failpoint("before_removal", folder.name)
    table, done = DeltaTable(str(folder)), dict[str, Any]()
    before, stamped = instant_literal(floor.at), instant_literal(floor.at - margin)
    old = f"(event_time < {before} OR event_time IS NULL) AND timestamp < {stamped}"

    def delete() -> None:
        done.update(table.delete(old, writer_properties=COMPACT, commit_properties=CommitProperties(_BY_AGE)))

    any(try_commit(table, delete) for _ in range(_TRIES))
    return int(done.get("num_deleted_rows", 0))


def newest_event(folder: Folder, margin: timedelta) -> datetime | None:
    """Return when the newest record of a raw table happened (UTC), by its log; None if that is not known of any.

    Of a file no record counts as newer than its newest timestamp in Kafka says, by a margin: the table keeps what
    validation refuses, too, and one record of the future would make all others old.

    Args:
        folder: of the raw table.
        margin: how far a record's event may lie ahead of its timestamp.
    """
    files = pa.table(open_table(folder).get_add_actions(flatten=True))
    if "max.event_time" not in files.column_names:
        return None
    latest = pc.add(files.column("max.timestamp"), pa.scalar(margin, pa.duration("us")))
    event = files.column("max.event_time")
    newest = pc.max(pc.if_else(pc.less(event, latest), event, latest)).as_py()
    return None if newest is None else newest.astimezone(UTC)


def oldest_unread(folder: Folder, before: datetime, positions: Mapping[str, int], *, topic_id: str) -> datetime | None:
    """Return the time of the oldest record that is older than a time and that a reader has not read; None without any.

    Args:
        folder: of the raw table.
        before: what happened then or later does not matter; of a record without its own time, what was stamped.
        positions: next offsets per `topic/partition`; of a partition that is missing it has read nothing, and without
            any nothing at all.
        topic_id: the topic in which they count; records of earlier ones are read.
    """
    columns = ["event_time", "timestamp"]
    unread = _below(before, before, own=True)
    if positions:
        unread &= (ds.field("topic_id") == topic_id) & beyond(positions)
    rows = dataset_of(folder).to_table(columns=columns, filter=unread)
    times = pc.coalesce(rows.column("event_time"), rows.column("timestamp"))
    oldest = pc.min(times).as_py()
    return None if oldest is None else oldest.astimezone(UTC)


def _below(event: datetime, stamped: datetime, *, own: bool = False) -> ds.Expression:
    """Return the condition that a record is older than a time.

    Args:
        event: of records that say when they happened.
        stamped: of their timestamps in Kafka.
        own: whether the timestamp counts only for records that do not say when they happened.
    """
    happened, at = ds.field("event_time"), ds.field("timestamp")
    before, older = happened < instant_scalar(event), at < instant_scalar(stamped)
    return before | (happened.is_null() & older) if own else (before | happened.is_null()) & older


def _seconds(instant: datetime) -> int:
    return int(instant.timestamp())
