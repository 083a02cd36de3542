"""A `latest` output as a Delta table: each batch is one merge by delta-rs, which needs no Spark job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.table import TableMerger

from sluice.delta.conditions import instant_literal
from sluice.delta.log import write_no_files
from sluice.delta.reading import dataset_of
from sluice.delta.table import ensure_table, refuse_unfit
from sluice.delta.upkeep import UNCOMMITTED_HOURS, vacuumed
from sluice.delta.writer_log import WriterLog
from sluice.intervals.entries import StreamEntry
from sluice.live.store import Change, LatestTable
from sluice.observability.logs import get_logger
from sluice.storage.folder import Folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import dataset

log = get_logger()

_KEPT_HOURS = 1
_REMOVALS_KNOWN_HOURS = 6
NEWEST_VALUES: Mapping[str, str] = {
    "delta.logRetentionDuration": f"interval {_KEPT_HOURS} hours",
    "delta.deletedFileRetentionDuration": f"interval {_REMOVALS_KNOWN_HOURS} hours",
    "delta.enableExpiredLogCleanup": "false",
}
"""A table of newest values changes with every batch, and no user asks for last month's. The log is cut short here only,
where the newest batch is in it: after a quiet hour, any commit could take away the entry that says how far it goes. It
names a file that left the table for longer than that is kept: any commit may be the one whose checkpoint forgets it."""

_CHANGES_BETWEEN_VACUUMS = 200
"""Also the first change of each process is followed by one: a driver may end after a few."""


class DeltaLatest:
    """Implements `sluice.live.store.LatestStore`.

    Args:
        folder: of the table.
        table: what it holds.
        schema: its columns, as Spark and Delta write a schema in JSON.
        writer: the app id of the stream.
        generation: the attempt on whose behalf this process writes.
    """

    def __init__(self, folder: Folder, table: LatestTable, schema: str, writer: str, generation: int) -> None:
        self.writer = writer
        self.generation = generation
        self._folder = folder
        self._table = table
        self._schema = schema
        self._log: WriterLog | None = None
        self._changes = -1

    @property
    def latest(self) -> StreamEntry | None:
        """The newest batch in the table, as of `open` and of every `apply` since."""
        return self._log.latest if self._log else None

    @property
    def filled(self) -> bool:
        """See the port."""
        return self._log is not None and self._log.newest is not None

    def check(self) -> None:
        """See the port."""
        refuse_unfit(self._folder, self._schema)

    def open(self) -> None:
        """See the port."""
        ensure_table(self._folder, self._schema, configuration=NEWEST_VALUES)
        self._log = WriterLog(self._folder, self.writer, self.generation)
        self._log.open()

    def check_fence(self) -> None:
        """See the port."""
        self._opened().check_fence()

    def apply(self, change: Change) -> None:
        """See the port."""
        log = self._opened()
        if change.rows.num_rows:
            log.commit(change.entry, change.version, lambda table, properties: self._merge(table, change, properties))
        else:
            log.record(change.entry, change.version)
        self._count()

    def expire(self, before: datetime) -> None:
        """See the port."""
        earlier = f"`{self._table.time_column}` < {instant_literal(before)}"
        if count_rows(self._folder, str(self._table.time_column), lambda time: time < before):
            self._opened().amend(lambda table, properties: table.delete(earlier, commit_properties=properties))
            self._count()

    def _count(self) -> None:
        self._changes += 1
        if self._changes % _CHANGES_BETWEEN_VACUUMS == 0:
            self._vacuum()

    def _opened(self) -> WriterLog:
        if self._log is None:
            raise AssertionError("the store is not open")
        return self._log

    def _merge(self, table: DeltaTable, change: Change, properties: CommitProperties) -> None:
        merge, by = merged_by_keys(table, change.rows, self._table.keys, properties), self._table.newest_by
        newer = None if by is None else f"old.`{by}` IS NULL OR new.`{by}` >= old.`{by}`"
        merge = merge.when_matched_update_all(newer).when_not_matched_insert_all()
        before = table.version()
        merge.execute()
        if table.version() == before:  # delta-rs commits no merge that changes nothing, and the batch must be on record
            write_no_files(table, properties)

    def _vacuum(self) -> None:
        """Remove the files of old versions, of which every change leaves one; readers have an hour to finish.

        No version has had the files of a merge that was killed, or that another commit has forestalled.
        """
        try:
            table = DeltaTable(str(self._folder))
            table.create_checkpoint()
            table.cleanup_metadata()
            vacuumed(self._folder, _KEPT_HOURS)
            vacuumed(self._folder, UNCOMMITTED_HOURS, all_files=True)
        except DeltaError as error:  # the next one does it
            log.warning("old files are left", table=str(self._folder), why=str(error))


def merged_by_keys(
    table: DeltaTable, rows: pa.Table, keys: Sequence[str], properties: CommitProperties | None = None
) -> TableMerger:
    """Begin a merge of `new` rows into the `old` ones with the same keys; nothing is changed before it is executed."""
    same = " AND ".join(f"old.`{key}` = new.`{key}`" for key in keys)
    return table.merge(rows, same, source_alias="new", target_alias="old", commit_properties=properties)


def count_rows(folder: Folder, column: str, holds: Callable[[dataset.Expression], dataset.Expression]) -> int:
    """Return of how many rows of a table something holds of one column; no other column is read."""
    from pyarrow import dataset  # noqa: PLC0415 - a third of a second, which a stream's driver need not spend

    return int(dataset_of(folder).count_rows(filter=holds(dataset.field(column))))
