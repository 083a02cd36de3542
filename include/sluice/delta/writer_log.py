"""One writer's side of a Delta table's log: how far it got, and which generation may write.

Read through delta-rs (milliseconds, no Spark job). A newer generation marks the table before it reads what is covered;
an older one checks the mark before each commit. Commits of one writer share an app id, so two that run at once
conflict in Delta itself: the mark only makes the older one stop with the right words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from threading import RLock
from typing import TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.transaction import AddAction

from sluice.delta.handle import TableHandle
from sluice.delta.log import (
    entry_properties,
    newest_standing,
    newest_stream_entry,
    try_commit,
    write_no_files,
)
from sluice.errors import CorruptionError, NotReadyError, SluiceError
from sluice.intervals.coverage import NOWHERE, Position
from sluice.intervals.entries import AttemptEntry, StreamEntry
from sluice.intervals.writers import count_alike, of_all_epochs
from sluice.storage.folder import Folder
from sluice.streams.position.fencing import FencedError

Write: TypeAlias = Callable[[DeltaTable, CommitProperties], object]


class DataLossError(SluiceError):
    """Records that were never read are gone."""


class WriterLog:
    """One writer's view of one table's log. Batches and the driver's own thread may use it at once.

    Args:
        table: the table's folder; the table exists.
        writer: the app id of the stream in its present epoch, stable over checkpoints.
        generation: the attempt on whose behalf this process writes.
    """

    def __init__(self, table: Folder, writer: str, generation: int) -> None:
        self._handle = TableHandle(table)
        self._lock = RLock()
        self.table = table
        self.writer = writer
        self.generation = generation
        self._transaction: int | None = None
        self.latest: StreamEntry | None = None
        """The newest entry of this writer, as of `open` and of every `confirm` since."""
        self._before: StreamEntry | None = None

    @property
    def _delta(self) -> DeltaTable:
        return self._handle.table

    @property
    def newest(self) -> StreamEntry | None:
        """The newest entry of any writer: until the first commit of an epoch, the last one of the epoch before."""
        return self.latest or self._before

    @property
    def inherited(self) -> StreamEntry | None:
        """The same, if its offsets count in the topic that this writer reads: one created again counts again."""
        newest = self.newest
        return newest if newest is not None and count_alike(newest.writer, self.writer) else None

    @property
    def position(self) -> Position:
        """How far this writer's commits go."""
        return self.latest.position if self.latest else NOWHERE

    def open(self, *, code: str = "", direct: bool = False) -> None:
        """Mark the table for this generation, then read what the writer has committed.

        What lies before an attempt that put no batch on record says nothing of where the writer stands: `latest` is
        None then, and the checkpoint alone knows.

        Args:
            code: the hash of the code that this attempt runs.
            direct: whether this attempt puts no batch on record; `latest` is then what was, before such attempts.

        Raises:
            FencedError: a newer generation has marked it.
            CorruptionError: the log knows this writer's transaction but no longer its entry.
        """
        while (marked := self._marked()) < self.generation:
            mark = Transaction(self._fence, self.generation)
            attempt = AttemptEntry(self.writer, self.generation, code, direct=direct)
            properties = entry_properties(attempt, mark, *self._ousted())
            try_commit(self._delta, partial(write_no_files, self._delta, properties))
        if marked > self.generation:
            raise self._fenced(marked)
        self._transaction = self._handle.transaction(self.writer)
        self.latest = self._newest_entry(direct=direct)
        if self.latest is None:
            self._before = newest_stream_entry(self.table)

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation has marked the table since."""
        marked = self._marked()
        if marked > self.generation:
            raise self._fenced(marked)

    def confirm(self, entry: StreamEntry, version: int) -> None:
        """Make sure that the commit of `entry` is in the log: Delta skips a transaction that it thinks it has seen."""
        with self._lock:
            self._handle.update()
            seen = self._handle.transaction(self.writer)
        if seen != version:
            raise CorruptionError(
                f"{self.table} has transaction {seen} of {self.writer}; this driver just wrote {version}. "
                "The table was not changed by that write.",
                fix="stop the stream and compare the checkpoint with the table's history.",
            )
        self.latest, self._transaction = entry, version

    def append(self, rows: pa.Table, entry: StreamEntry, version: int) -> None:
        """Commit a batch's rows as new files. Raises what `commit` does."""
        self.commit(
            entry,
            version,
            lambda table, properties: write_deltalake(
                table, filled(rows, table), mode="append", commit_properties=properties
            ),
        )

    def add(self, files: Sequence[AddAction], entry: StreamEntry, version: int) -> None:
        """Commit files that lie in the table's folder. Raises what `commit` does."""
        self.commit(
            entry,
            version,
            lambda table, properties: table.create_write_transaction(
                list(files), "append", table.schema(), commit_properties=properties
            ),
        )

    def record(self, entry: StreamEntry, version: int) -> None:
        """Commit a batch without files: what it wrote is elsewhere, or nothing. Raises what `commit` does."""
        self.commit(entry, version, write_no_files)

    def amend(self, write: Write) -> None:
        """Commit a change that belongs to no batch, under the name of the newest one; nothing before the first.

        Raises what `commit` does.
        """
        if self.latest is not None and self._transaction is not None:
            self.commit(self.latest, self._transaction, write)

    @property
    def version(self) -> int:
        """The newest version of the table that this writer has seen."""
        return self._delta.version()

    def rewrite(self, entry: StreamEntry, version: int, write: Write) -> None:
        """Replace what the table holds by the same records in another form.

        Args:
            entry: the newest one, with what is said otherwise.
            version: of the table that was read: the commit is made right after it, or not at all.
            write: makes it with the properties that it is given.

        Raises:
            FencedError: a newer generation owns the table.
            NotReadyError: another commit was quicker; nothing was changed.
        """
        with self._lock:
            self.check_fence()
            properties = entry_properties(entry, max_retries=0)
            if self.version != version or not try_commit(self._delta, lambda: write(self._delta, properties)):
                raise NotReadyError(
                    f"{self.table} was changed while its records were read again. Nothing was written.",
                    fix="nothing: the next start does it; if it happens again, find out who else writes the table.",
                )
            self._handle.update()
        self.latest, self._before = (self.latest and entry), (self._before and entry)

    def commit(self, entry: StreamEntry, version: int, write: Write) -> None:
        """Write at the version right after the one at which the mark was read, or not at all; then check again.

        So no commit of another generation can lie between the check and the write.

        Args:
            entry: names the batch's input.
            version: the batch's transaction version.
            write: makes one commit with the properties that it is given; called again when another writer was quicker.

        Raises:
            FencedError: a newer generation owns the table.
            CorruptionError: another process writes under this writer's name.
        """
        properties = entry_properties(entry, Transaction(self.writer, version), max_retries=0)
        while True:
            with self._lock:  # another thread of this driver that reads in between would hide a new mark from the write
                self.check_fence()
                self._check_alone()
                done = try_commit(self._delta, lambda: write(self._delta, properties))
                done = done or self._was_made(entry, version)
            if done:
                self.confirm(entry, version)
                return

    def _was_made(self, entry: StreamEntry, version: int) -> bool:
        """Return whether the commit that another one seems to have forestalled is that other one.

        An object store whose answer was lost is asked once more by its client, and finds the first request's commit.
        """
        if version == self._transaction or self._handle.transaction(self.writer) != version:
            return False
        return newest_stream_entry(self.table, self.writer) == entry

    def _check_alone(self) -> None:
        """Raise CorruptionError if another process has committed under this writer's name since its last commit."""
        with self._lock:
            seen = self._handle.transaction(self.writer)
        if seen != self._transaction:
            raise CorruptionError(
                f"{self.table} has transaction {seen} of {self.writer}; the last that this driver knows of is "
                f"{self._transaction}. Nothing was written.",
                fix="stop the stream, find who else writes under its name, and compare the checkpoint with the table.",
            )

    def _ousted(self) -> list[Transaction]:
        """Return the last transaction of an older epoch once more: who still writes under it conflicts in Delta."""
        last = None if self._handle.transaction(self.writer) is not None else newest_stream_entry(self.table)
        version = None if last is None else self._handle.transaction(last.writer)
        return [] if last is None or version is None else [Transaction(last.writer, version)]

    @property
    def _fence(self) -> str:
        return f"{of_all_epochs(self.writer)}:generation"

    def _marked(self) -> int:
        with self._lock:
            self._handle.update()
            return self._handle.transaction(self._fence) or 0

    def _fenced(self, marked: int) -> FencedError:
        return FencedError.of(self.table, marked, self.generation)

    def _newest_entry(self, *, direct: bool) -> StreamEntry | None:
        if self._handle.transaction(self.writer) is None:
            return None
        newest = (newest_stream_entry if direct else newest_standing)(self.table, self.writer)
        if newest is None:
            raise CorruptionError(
                f"{self.table} knows {self.writer} but neither its log nor the kept copy holds an entry of it: what "
                "it covers is unknown.",
                fix="restore the table's log, or reset the stream to a new epoch.",
            )
        return newest if isinstance(newest, StreamEntry) else None


def filled(rows: pa.Table, table: DeltaTable) -> pa.Table:
    """Return the rows with nulls in columns that newer code, such as a backfill's, has added to the table."""
    for column in pa.schema(table.schema().to_arrow()):
        if column.name not in rows.column_names:
            rows = rows.append_column(column, pa.nulls(rows.num_rows, column.type))
    return rows


def filled_batches(rows: ds.Scanner, table: DeltaTable) -> pa.RecordBatchReader:
    """Return the same of rows that are read while they are written."""
    empty = filled(rows.projected_schema.empty_table(), table)
    batches = (filled(pa.Table.from_batches([batch]), table) for batch in rows.to_batches())
    return pa.RecordBatchReader.from_batches(empty.schema, chain.from_iterable(each.to_batches() for each in batches))
