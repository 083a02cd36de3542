"""A store of newest rows in memory: what several opened stores of one table share is the table itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sluice.errors import RefusedError
from sluice.intervals.entries import StreamEntry
from sluice.live.store import Change, LatestTable
from sluice.streams.position.fencing import FencedError


@dataclass
class SharedRows:
    """One table."""

    rows: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)
    columns: dict[str, object] = field(default_factory=dict)
    generation: int = 0
    entry: StreamEntry | None = None


@dataclass
class InMemoryLatest:
    """Implements `sluice.live.store.LatestStore`."""

    shared: SharedRows
    table: LatestTable
    writer: str
    generation: int
    latest: StreamEntry | None = None

    @property
    def filled(self) -> bool:
        return self.shared.entry is not None

    def check(self) -> None:
        columns = {column.name: column.type for column in self.table.schema}
        for name, kind in self.shared.columns.items():
            if name not in columns:
                raise RefusedError(f"{name} is there and not here.")
            if columns[name] != kind:
                raise RefusedError(f"{name} is {kind} there and {columns[name]} here.")

    def open(self) -> None:
        self.check_fence()
        self.check()
        columns = {column.name: column.type for column in self.table.schema}
        for row in self.shared.rows.values():
            row.update(dict.fromkeys(columns.keys() - row.keys()))
        self.shared.columns, self.shared.generation = columns, self.generation
        entry = self.shared.entry
        self.latest = entry if entry is not None and entry.writer == self.writer else None

    def apply(self, change: Change) -> None:
        self.check_fence()
        for row in change.rows.to_pylist():
            key = tuple(row[name] for name in self.table.keys)
            if not self._is_older(row, self.shared.rows.get(key)):
                self.shared.rows[key] = row
        self.latest = self.shared.entry = change.entry

    def expire(self, before: datetime) -> None:
        self.check_fence()
        column = str(self.table.time_column)
        self.shared.rows = {key: row for key, row in self.shared.rows.items() if row[column] >= before}

    def _is_older(self, row: Mapping[str, Any], than: Mapping[str, Any] | None) -> bool:
        by = self.table.newest_by
        return bool(by and than is not None and than[by] is not None and (row[by] is None or row[by] < than[by]))

    def check_fence(self) -> None:
        if self.shared.generation > self.generation:
            raise FencedError.of(self.table.name, self.shared.generation, self.generation)
