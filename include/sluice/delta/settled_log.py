"""A settled table as a Delta table: marked for one generation, read at one version, written right after it or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from threading import RLock

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError

from sluice.delta.handle import TableHandle
from sluice.delta.log import entry_properties, newest_first, try_commit, write_no_files
from sluice.delta.writer_log import filled, filled_batches
from sluice.failpoints import failpoint
from sluice.intervals.carried import Carried
from sluice.intervals.entries import AttemptEntry, Content, Logged, SettleEntry
from sluice.intervals.reach import Reach
from sluice.settling.ports import SettledState, UncertainCommitError
from sluice.settling.rules import SettlingRules
from sluice.settling.state import settled_state
from sluice.storage.folder import Folder, remove_folder
from sluice.streams.position.fencing import FencedError


@dataclass(frozen=True)
class CollectedRows:
    """Computed rows in the driver's memory. Implements `sluice.settling.ports.Staged`.

    Attributes:
        rows: with the columns of the table, or fewer.
        content: what each interval holds, by its start.
        carried: see the port.
    """

    rows: pa.Table
    content: Mapping[datetime, Content]
    carried: Mapping[datetime, Carried] = field(default_factory=dict)

    def discard(self) -> None:
        """Do nothing: no file holds them."""


@dataclass(frozen=True)
class StagedRows:
    """Computed rows in files that no log names. Implements `sluice.settling.ports.Staged`.

    Attributes:
        rows: with the columns of the table, or fewer; read while they are written to the table.
        content: what each interval holds, by its start.
        folder: of the files.
        carried: see the port.
    """

    rows: ds.Scanner
    content: Mapping[datetime, Content]
    folder: Folder
    carried: Mapping[datetime, Carried] = field(default_factory=dict)

    def discard(self) -> None:
        """Delete the files."""
        remove_folder(self.folder)


class SettledLog:
    """Implements `sluice.settling.ports.SettledTable`. Batches and the driver's own thread may use it at once.

    Args:
        folder: of the table, which exists.
        column: its partition column, with the start of a row's interval.
        writer: the settler's name.
        generation: the attempt on whose behalf it writes.
        rules: of each topic that the pipeline reads.
        beginning: see `sluice.settling.state.settled_state`.
    """

    def __init__(
        self,
        folder: Folder,
        column: str,
        writer: str,
        generation: int,
        rules: Mapping[str, SettlingRules],
        *,
        beginning: Mapping[str, Reach] | None = None,
    ) -> None:
        self._handle = TableHandle(folder)
        self._lock = RLock()  # another thread that reads in between would hide a new mark from a read or a write
        self._folder = folder
        self._column = column
        self._writer = writer
        self._generation = generation
        self._rules = rules
        self._beginning = beginning

    @property
    def _delta(self) -> DeltaTable:
        return self._handle.table

    def open(self) -> None:
        """See the port."""
        while (marked := self._marked()) < self._generation:
            entry = AttemptEntry(self._writer, self._generation)
            properties = entry_properties(entry, Transaction(self._fence, self._generation), max_retries=0)
            try_commit(self._delta, partial(write_no_files, self._delta, properties))
        if marked > self._generation:
            raise self._fenced(marked)

    def read(self) -> SettledState:
        """See the port."""
        with self._lock:
            self.check_fence()
            version = self._delta.version()
        log = (logged for logged in newest_first(self._folder) if logged.version <= version)
        return settled_state(log, version, self._rules, self._beginning)

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation has marked the table."""
        if (marked := self._marked()) > self._generation:
            raise self._fenced(marked)

    def commit(self, state: SettledState, entry: SettleEntry, rows: CollectedRows | StagedRows | None) -> bool:
        """See the port."""
        with self._lock:
            if self._delta.version() != state.version:  # it was read again since
                return False
            done = self._write(state, entry, rows)
        if done and isinstance(rows, StagedRows):  # the table has a copy of them
            rows.discard()
        failpoint("after_write_before_commit", self._folder.name)
        return done

    def _write(self, state: SettledState, entry: SettleEntry, rows: CollectedRows | StagedRows | None) -> bool:
        properties = entry_properties(entry, Transaction(self._writer, state.version + 1), max_retries=0)
        if rows is None or entry.since is None or entry.settled_until is None:
            write = partial(write_no_files, self._delta, properties)
        else:
            write = partial(
                write_deltalake,
                self._delta,
                self._filled(rows),
                mode="overwrite",
                predicate=self._between(entry.since, entry.settled_until),
                commit_properties=properties,
            )
        failpoint("before_write", self._folder.name)
        try:
            return try_commit(self._delta, write)
        except (DeltaError, OSError) as error:
            raise UncertainCommitError(f"a commit to {self._folder} may have been made or not: {error}") from error

    def _filled(self, rows: CollectedRows | StagedRows) -> pa.Table | pa.RecordBatchReader:
        if isinstance(rows, CollectedRows):
            return filled(rows.rows, self._delta)
        return filled_batches(rows.rows, self._delta)

    def holds(self, state: SettledState, entry: SettleEntry) -> bool:
        """See the port."""
        return any(
            logged.version == state.version + 1
            and isinstance(logged.entry, SettleEntry)
            and logged.entry.nonce == entry.nonce
            for logged in self._since(state.version)
        )

    def _since(self, version: int) -> Iterator[Logged]:
        for logged in newest_first(self._folder):
            if logged.version <= version:
                return
            yield logged

    def _between(self, since: datetime, until: datetime) -> str:
        first, end = (f"'{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}'" for moment in (since, until))
        return f'"{self._column}" >= {first} AND "{self._column}" < {end}'

    @property
    def _fence(self) -> str:
        return f"{self._writer}:generation"

    def _marked(self) -> int:
        with self._lock:
            self._handle.update()
            return self._handle.transaction(self._fence) or 0

    def _fenced(self, marked: int) -> FencedError:
        return FencedError.of(self._folder, marked, self._generation)
