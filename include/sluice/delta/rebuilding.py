"""A `latest` output in Delta, rebuilt: one merge, which needs no Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa

from sluice.delta.conditions import instant_literal
from sluice.delta.latest import count_rows, merged_by_keys
from sluice.delta.log import try_commit
from sluice.delta.reading import open_table, read_rows
from sluice.live.rebuilding import HeldRow
from sluice.storage.folder import Folder


class DeltaRebuildStore:
    """Implements `sluice.live.rebuilding.RebuildStore`.

    Args:
        folder: of the table.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    @property
    def columns(self) -> tuple[str, ...]:
        """See the port."""
        return tuple(field.name for field in open_table(self._folder).schema().fields)

    def rows(self) -> Sequence[HeldRow]:
        """See the port."""
        found: list[HeldRow] = read_rows(self._folder).to_pylist()
        return found

    def count_later(self, time_column: str, than: datetime) -> int:
        """See the port; no other column is read."""
        return count_rows(self._folder, time_column, lambda time: time > than) if self._folder.exists() else 0

    def remove_later(self, time_column: str, than: datetime) -> None:
        """See the port."""
        open_table(self._folder).delete(f"`{time_column}` > {instant_literal(than)}")

    def replace(self, rows: pa.Table, keys: Sequence[str], time_column: str, before: datetime) -> None:
        """See the port."""
        table, earlier = open_table(self._folder), f"old.`{time_column}` < {instant_literal(before)}"

        def write() -> None:
            merge = merged_by_keys(table, rows, keys)
            merge = merge.when_matched_update_all(earlier).when_not_matched_insert_all()
            merge.when_not_matched_by_source_delete(earlier).execute()

        while not try_commit(table, write):  # the stream was quicker
            pass
