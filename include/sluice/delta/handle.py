"""A table's handle that is kept for months."""

from __future__ import annotations

from deltalake import DeltaTable

from sluice.delta.log import transactions_at
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
        self._transactions: dict[str, int | None] = {}
        self._read = self.table.version()

    def _open(self) -> None:
        self.table = DeltaTable(str(self._folder))
        self._since = self.table.version()

    def update(self) -> None:
        """Read what was committed since."""
        if self.table.version() < self._since + _COMMITS:
            self.table.update_incremental()
        else:
            self._open()

    def transaction(self, application: str) -> int | None:
        """Return the newest transaction of an application at the version of the handle; None if there is none.

        For an answer delta-rs reads all commits since the last checkpoint, of a bucket by a request for each. So it is
        asked once, and then each later commit is read once.
        """
        self._read_on(self.table.version())
        if application not in self._transactions:
            self._transactions[application] = self.table.transaction_version(application)
        return self._transactions[application]

    def _read_on(self, version: int) -> None:
        if version < self._read:  # it is another table under the same name
            self._transactions.clear()
        try:
            for each in range(self._read + 1, version + 1):
                made = transactions_at(self._folder, each)
                self._transactions |= {name: made[name] for name in self._transactions.keys() & made.keys()}
        except FileNotFoundError:  # the log was cut: delta-rs finds them in a checkpoint
            self._transactions.clear()
        self._read = version
