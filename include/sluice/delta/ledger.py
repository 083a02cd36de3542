"""The ledger in a Delta table's log: how far a writer got, and which generation may write.

Read through delta-rs (milliseconds, no Spark job). A newer generation marks the table before it reads what is covered;
an older one looks at the mark before each commit. Commits of one writer share an app id, so two that run at once
conflict in Delta itself: the mark only makes the older one stop with the right words.
"""

from __future__ import annotations

from pathlib import Path

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError

from sluice.errors import CorruptionError, SluiceError
from sluice.intervals.commit import CommitEntry
from sluice.intervals.coverage import NOWHERE, Position


class FencedError(SluiceError):
    """A newer generation of the unit owns this table."""


class DataLossError(SluiceError):
    """Records that were never read are gone."""


class Ledger:
    """One writer's view of one table's log.

    Args:
        table: the table's folder; the table exists.
        writer: the app id of the stream, stable over checkpoints.
        generation: the attempt on whose behalf this process writes.
    """

    def __init__(self, table: Path, writer: str, generation: int) -> None:
        self._delta = DeltaTable(str(table))
        self._table = table
        self.writer = writer
        self.generation = generation
        self.latest: CommitEntry | None = None
        """The newest entry of this writer, as of `open` and of every `confirm` since."""

    @property
    def position(self) -> Position:
        """How far this writer's commits go."""
        return self.latest.position if self.latest else NOWHERE

    def open(self) -> None:
        """Mark the table for this generation, then read what the writer has committed.

        Raises:
            FencedError: a newer generation has marked it.
            CorruptionError: the log knows this writer's transaction but no longer its entry.
        """
        while (marked := self._marked()) < self.generation:
            mark = Transaction(self._fence, self.generation)
            try:
                self._delta.create_write_transaction(
                    [], "append", self._delta.schema(), commit_properties=CommitProperties(app_transactions=[mark])
                )
            except CommitFailedError:  # somebody else committed in between: look again
                continue
        if marked > self.generation:
            raise self._fenced(marked)
        self.latest = self._newest_entry()

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation has marked the table since."""
        marked = self._marked()
        if marked > self.generation:
            raise self._fenced(marked)

    def confirm(self, entry: CommitEntry, version: int) -> None:
        """Make sure that the commit of `entry` is in the log: Delta skips a transaction that it thinks it has seen."""
        self._delta.update_incremental()
        seen = self._delta.transaction_version(self.writer)
        if seen != version:
            raise CorruptionError(
                f"{self._table} has transaction {seen} of {self.writer}; this driver just wrote {version}. "
                "The table was not changed by that write.",
                fix="stop the stream and compare the checkpoint with the table's history.",
            )
        self.latest = entry

    @property
    def _fence(self) -> str:
        return f"{self.writer}:generation"

    def _marked(self) -> int:
        self._delta.update_incremental()
        return self._delta.transaction_version(self._fence) or 0

    def _fenced(self, marked: int) -> FencedError:
        return FencedError(
            f"{self._table} belongs to generation {marked} of its stream; this driver is generation "
            f"{self.generation} and publishes nothing more.",
            fix="nothing: the newer driver goes on. `sluice streams show` names it.",
        )

    def _newest_entry(self) -> CommitEntry | None:
        if self._delta.transaction_version(self.writer) is None:
            return None
        for limit in (100, 10_000, None):
            for commit in self._delta.history(limit):
                entry = CommitEntry.from_json(commit.get("userMetadata"))
                if entry is not None and entry.writer == self.writer:
                    return entry
        raise CorruptionError(
            f"{self._table} knows {self.writer} but the log no longer holds an entry of it: what it covers is unknown.",
            fix="restore the table's log, or reset the stream to a new epoch.",
        )
