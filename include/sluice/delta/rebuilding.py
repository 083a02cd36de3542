"""A `latest` output in Delta, rebuilt: one merge, which needs no Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from sluice.delta.latest import instant_literal
from sluice.delta.reading import dataset_of, open_table, read_rows
from sluice.errors import UnreachableError
from sluice.live.rebuilding import HeldRow

_TRIES = 10


class DeltaRebuildStore:
    """Implements `sluice.live.rebuilding.RebuildStore`.

    Args:
        folder: of the table.
    """

    def __init__(self, folder: Path) -> None:
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
        from pyarrow import dataset  # noqa: PLC0415 - a third of a second, for a command that reads a log

        if not self._folder.exists():
            return 0
        return int(dataset_of(self._folder).count_rows(filter=dataset.field(time_column) > than))

    def remove_later(self, time_column: str, than: datetime) -> None:
        """See the port."""
        open_table(self._folder).delete(f"`{time_column}` > {instant_literal(than)}")

    def replace(self, rows: pa.Table, keys: Sequence[str], time_column: str, before: datetime) -> None:
        """See the port."""
        for attempt in range(1, _TRIES + 1):
            try:
                self._merge(open_table(self._folder), rows, keys, f"old.`{time_column}` < {instant_literal(before)}")
            except CommitFailedError as error:  # the stream has committed first, to the same files
                if attempt == _TRIES:
                    raise UnreachableError(
                        f"{self._folder.name} changes too quickly: {_TRIES} times its stream was first.",
                        fix="stop the stream, rebuild the table, and start the stream again.",
                    ) from error
            else:
                return

    def _merge(self, table: DeltaTable, rows: pa.Table, keys: Sequence[str], earlier: str) -> None:
        merge = table.merge(
            rows,
            " AND ".join(f"old.`{key}` = new.`{key}`" for key in keys),
            source_alias="new",
            target_alias="old",
        )
        merge = merge.when_matched_update_all(earlier).when_not_matched_insert_all()
        merge.when_not_matched_by_source_delete(earlier).execute()
