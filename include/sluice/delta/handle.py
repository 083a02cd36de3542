"""A table's handle that is kept for months."""

from __future__ import annotations

from deltalake import DeltaTable

from sluice.storage.folder import Folder

_COMMITS = 100


class TableHandle:
    """A table that is read again and again, and stays as quick as it was at first.

    delta-rs keeps in a handle what each commit said, and goes through all of it at the next one: after a few thousand
    commits each took a second. A table that is opened again is read from its newest checkpoint.

    Args:
        folder: of the table; the table exists.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._open()

    def _open(self) -> None:
        self.table = DeltaTable(str(self._folder))
        self._since = self.table.version()

    def update(self) -> None:
        """Read what was committed since."""
        if self.table.version() < self._since + _COMMITS:
            self.table.update_incremental()
        else:
            self._open()
