"""Publishing a chunk: one Delta commit that replaces exactly its intervals, beside writers of others.

Delta lets a replacement and a commit to other partitions both pass, and refuses two that touch the same files. What it
cannot know is whose interval it is, so this is checked before the commit (nothing was changed: refused) and once more
in the log after it (something was: corruption).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog
from delta.exceptions.captured import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)
from deltalake import DeltaTable
from pyspark.sql import DataFrame

from sluice.delta.log import newest_first
from sluice.errors import CorruptionError, RefusedError
from sluice.failpoints import failpoint, failpoint_when, uncommitted_data
from sluice.intervals.entries import BackfillEntry, to_json
from sluice.spark.tables.output import OutputTable

log = structlog.get_logger()

_CONFLICTS = (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)
_TRIES = 5


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

    def publish(self, rows: DataFrame) -> int:
        """Replace the intervals by `rows`, and return the table version that did it.

        Args:
            rows: all rows of the intervals, with the columns of the output table.

        Raises:
            RefusedError: another writer wrote one of the intervals meanwhile; nothing was changed.
            CorruptionError: the log does not say what it should after the commit.
        """
        for attempt in range(1, _TRIES + 1):
            self.still_ours()
            self._refuse_other_files()
            try:
                self._write(rows)
            except _CONFLICTS as conflict:
                if attempt == _TRIES:
                    raise RefusedError(
                        f"{_TRIES} commits to {self.table.folder} met others each time, the last a "
                        f"{type(conflict).__name__}; nothing was changed.",
                        fix="run the backfill again; if it stays so, see who else writes this table.",
                    ) from conflict
                log.warning("another writer committed first", conflict=type(conflict).__name__, attempt=attempt)
            else:
                break
        return self._confirm()

    def _write(self, rows: DataFrame) -> None:
        name = self.table.folder.name
        failpoint("after_gate", name)
        with failpoint_when("mid_publish", name, lambda: uncommitted_data(self.table.folder)):
            (
                rows.write.format("delta")
                .mode("overwrite")
                .option("replaceWhere", self.table.condition(self.entry.content))
                .option("txnAppId", app_id(self.entry.backfill, self.chunk))
                .option("txnVersion", 1)
                .option("userMetadata", to_json(self.entry))
                .save(str(self.table.folder))
            )
        failpoint("after_publish_before_index", name)

    def _refuse_other_files(self) -> None:
        if self.table.files(self.entry.content, self.table.version()) != self.files:
            raise RefusedError(
                f"the files of {len(self.entry.content)} intervals in {self.table.folder} are not those that were "
                "compared: another writer wrote them meanwhile. Nothing was changed.",
                fix="find out who (`sluice intervals show`), then run the backfill again.",
            )

    def _confirm(self) -> int:
        """Return the version of our commit, having seen in the log that it replaced what had been checked."""
        for logged in newest_first(self.table.folder):
            match logged.entry:
                case BackfillEntry(backfill=self.entry.backfill) as found if found == self.entry:
                    self._check_replaced(logged.version)
                    return logged.version
        raise CorruptionError(
            f"{self.table.folder} does not hold the commit of chunk {self.chunk} of {self.entry.backfill}: Delta took "
            "it for one that it has seen. The table was not changed.",
            fix="start the backfill again, under another key.",
        )

    def _check_replaced(self, version: int) -> None:
        if self.table.files(self.entry.content, version - 1) != self.files:
            raise CorruptionError(
                f"version {version} of {self.table.folder}, which {self.entry.backfill} published, replaced files that "
                f"another writer had written in the moment before. They are in version {version - 1}.",
                fix="find out who wrote them; then verify these intervals.",
            )


def app_id(backfill: str, chunk: int) -> str:
    """Return the id of a chunk's one transaction: Delta takes a second one for done.

    Each has its own, because chunks are not always published in order: one may have nothing to publish until later.
    """
    return f"backfill:{backfill}:{chunk}"


def chunks_published(table: Path, backfill: str, chunks: Iterable[int]) -> set[int]:
    """Return which of these chunks a backfill has published."""
    delta = DeltaTable(str(table))
    return {chunk for chunk in chunks if delta.transaction_version(app_id(backfill, chunk)) is not None}
