"""Publishing a chunk: one commit that replaces exactly its intervals, beside writers of others.

What the intervals hold and whose they are is read at one version of the table, and the commit is made right after that
version or not at all. So no writer can come between the check and the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyarrow.dataset as ds
from deltalake import DeltaTable, Transaction
from deltalake.transaction import AddAction

from sluice.delta.log import entry_properties, try_commit
from sluice.delta.writer_log import filled_batches
from sluice.delta.written_files import replace_partitions, written_partitions
from sluice.errors import RefusedError
from sluice.failpoints import failpoint
from sluice.intervals.entries import BackfillEntry
from sluice.observability.logs import get_logger
from sluice.spark.tables.output import OutputTable
from sluice.storage.folder import Folder

log = get_logger()

_TRIES = 100
"""Each takes milliseconds, since the files are there already."""


@dataclass(frozen=True)
class Publication:
    """One commit to be made.

    Attributes:
        table: where to.
        entry: what the commit carries; its content names the intervals, those without rows included.
        chunk: the chunk's number, from 0.
        files: what the intervals consisted of when they were checked.
        still_ours: raises RefusedError if another writer has written one of the intervals since they were chosen.
    """

    table: OutputTable
    entry: BackfillEntry
    chunk: int
    files: frozenset[str]
    still_ours: Callable[[], None]

    def publish(self, rows: ds.Scanner) -> int:
        """Replace the intervals by their rows, and return the table version that did it.

        Args:
            rows: all of the intervals, with the columns of the output table.

        Raises:
            RefusedError: another writer wrote one of the intervals meanwhile, or others commit all the time; nothing
                was changed.
        """
        name = self.table.folder.name
        failpoint("after_gate", name)
        batches = filled_batches(rows, DeltaTable(str(self.table.folder)))
        files = written_partitions(self.table.folder, self.table.column, batches)
        failpoint("mid_publish", name)
        for _ in range(_TRIES):
            delta = DeltaTable(str(self.table.folder))
            version = delta.version()
            self.still_ours()
            self._refuse_other_files(delta)
            if self._replace(delta, files) or self._was_made(delta):
                failpoint("after_publish_before_index", name)
                return version + 1
            log.warning("another writer committed first", table=name, version=version + 1)
        raise RefusedError(
            f"{_TRIES} commits to {self.table.folder} met others each time; nothing was changed.",
            fix="run the backfill again; if it stays so, see who else writes this table.",
        )

    def _replace(self, delta: DeltaTable, files: Sequence[AddAction]) -> bool:
        """Make the commit right after the version of `delta`; return False if another writer was quicker."""
        done = Transaction(app_id(self.entry.backfill, self.chunk), 1)
        properties = entry_properties(self.entry, done, max_retries=0)
        starts = self.entry.content
        return try_commit(delta, lambda: replace_partitions(delta, self.table.column, starts, files, properties))

    def _was_made(self, delta: DeltaTable) -> bool:
        """Return whether the commit that was quicker is this one: its client repeated a request without an answer."""
        return delta.transaction_version(app_id(self.entry.backfill, self.chunk)) is not None

    def _refuse_other_files(self, delta: DeltaTable) -> None:
        if self.table.files_of(self.entry.content.keys(), delta) != self.files:
            raise RefusedError(
                f"the files of {len(self.entry.content)} intervals in {self.table.folder} are not those that were "
                "compared: another writer wrote them meanwhile. Nothing was changed.",
                fix="find out who (`sluice intervals show`), then run the backfill again.",
            )


def app_id(backfill: str, chunk: int) -> str:
    """Return the id of a chunk's one transaction, by which a resumed backfill knows that it is published.

    Each has its own, because chunks are not always published in order: one may have nothing to publish until later.
    """
    return f"backfill:{backfill}:{chunk}"


def chunks_published(table: Folder, backfill: str, chunks: Iterable[int]) -> set[int]:
    """Return which of these chunks a backfill has published."""
    delta = DeltaTable(str(table))
    return {chunk for chunk in chunks if delta.transaction_version(app_id(backfill, chunk)) is not None}
