"""A `latest` output in Delta as a source of newest values: the whole table, each time that it has a new version."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from sluice.delta.reading import open_table, read_rows
from sluice.errors import RefusedError, UnreachableError
from sluice.live.source import Row, SourceRead
from sluice.live.values import MAX_VALUES
from sluice.storage.folder import Folder

_POLL_SECONDS = 0.2


class DeltaLiveTable:
    """Implements `sluice.live.source.LiveSource`.

    Args:
        folder: of the table.

    Raises:
        NotReadyError: there is none yet.
        CorruptionError: its log cannot be read.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._table: DeltaTable = open_table(folder)
        self._read: int | None = None

    def read(self, seconds: float) -> SourceRead:
        """See the port.

        Raises:
            UnreachableError: see the port.
            RefusedError: the table has more rows than are held.
        """
        until = time.monotonic() + seconds
        try:
            while (version := self._newest_version()) == self._read:
                if time.monotonic() >= until:
                    return SourceRead()
                time.sleep(_POLL_SECONDS)
            rows = read_rows(self._folder)
        except (DeltaError, OSError) as error:
            raise UnreachableError(f"The table {self._folder.name} could not be read ({error}).") from error
        if len(rows) > MAX_VALUES:
            raise RefusedError(
                f"{self._folder.name} has {len(rows):,} rows; {MAX_VALUES:,} are held in memory.",
                fix="deliver it to a topic, or let settled rows go by `keep: open`.",
            )
        self._read = version
        at = datetime.now(UTC)
        return SourceRead([Row(fields, at) for fields in rows.to_pylist()], whole=True)

    def close(self) -> None:
        """See the port."""

    def _newest_version(self) -> int:
        self._table.update_incremental()
        return int(self._table.version())
