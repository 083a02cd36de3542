"""What a trial finds: how the rows and columns that the code on disk gives differ from those that are published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

_SHOWN_COLUMNS = 4


@dataclass(frozen=True)
class ColumnChanges:
    """How the columns of the code's rows differ from those of the table. Only columns that both have are compared.

    Attributes:
        added: names of columns that the table gets when the code is first used; null in the rows before.
        dropped: names of columns that the code does not compute any more.
        retyped: columns of another type, as `name: old type, now new type`.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether any column differs."""
        return bool(self.added or self.dropped or self.retyped)

    @property
    def refused(self) -> bool:
        """Whether the table refuses the code's rows: it grows by columns only."""
        return bool(self.dropped or self.retyped)

    @property
    def text(self) -> str:
        """The differences in one sentence without its end; empty if there are none."""
        named = {"added": self.added, "dropped": self.dropped, "of another type": self.retyped}
        changes = [f"{kind}: {', '.join(names)}" for kind, names in named.items() if names]
        refusal = "; the table refuses a dropped or changed column, so a stream with this code would not start"
        return "; ".join(changes) + (refusal if self.refused else "")


NO_COLUMN_CHANGES = ColumnChanges()


class RowChange(StrEnum):
    """How the rows of one key differ."""

    CHANGED = "changed"
    ONLY_NEW = "only new"
    ONLY_OLD = "only old"


@dataclass(frozen=True)
class RowDifference:
    """One difference: the rows of a key, as they are published and as the code on disk computes them.

    Attributes:
        interval: the start of their interval (UTC).
        key: values of the columns that tell the rows apart; without declared keys, of all columns.
        old_rows: how many rows of this key are published.
        new_rows: how many the code computes.
        old: published values, of the columns that differ; of one row if there are several.
        new: computed values, likewise.
    """

    interval: datetime
    key: Mapping[str, str | None]
    old_rows: int
    new_rows: int
    old: Mapping[str, str | None] = field(default_factory=dict)
    new: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def change(self) -> RowChange:
        """What happened to the rows of the key."""
        if self.old_rows and self.new_rows:
            return RowChange.CHANGED
        return RowChange.ONLY_NEW if self.new_rows else RowChange.ONLY_OLD

    @property
    def text(self) -> str:
        """The difference in one line."""
        key = " ".join(f"{name}={_said(value)}" for name, value in self.key.items())
        if self.change is not RowChange.CHANGED:
            rows = self.old_rows + self.new_rows
            return f"{key}: {self.change}" + (f", {rows} rows" if rows > 1 else "")
        if self.old_rows != self.new_rows:
            return f"{key}: {self.old_rows} rows, now {self.new_rows}"
        values = [f"{name} {_said(old)}, now {_said(self.new.get(name))}" for name, old in self.old.items()]
        return f"{key}: {'; '.join(values[:_SHOWN_COLUMNS]) or 'other values'}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**asdict(self), "interval": self.interval.isoformat(), "change": self.change}

    def to_json(self) -> str:
        """Return it as one line for programs."""
        return json.dumps(self.as_dict())

    @classmethod
    def from_json(cls, line: str) -> RowDifference:
        """Return what `to_json` has written."""
        data = json.loads(line)
        known = {field: data[field] for field in ("key", "old_rows", "new_rows", "old", "new")}
        return cls(datetime.fromisoformat(data["interval"]), **known)


def _said(value: str | None) -> str:
    return "null" if value is None else value
