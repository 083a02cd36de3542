"""The store of a `latest` output as a port: one row per key, changed by one batch at a time, each batch once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from sluice.errors import RefusedError
from sluice.intervals.entries import StreamEntry


@dataclass(frozen=True)
class LatestTable:
    """What a store keeps.

    Attributes:
        name: of the table.
        schema: its columns; times are in UTC.
        keys: the columns that name a row.
        newest_by: the column that says which of two rows of a key is newer; None: the one that comes later.
        time_column: the column that says in which interval a row belongs, where rows expire; else None.
    """

    name: str
    schema: pa.Schema
    keys: tuple[str, ...]
    newest_by: str | None = None
    time_column: str | None = None


@dataclass(frozen=True)
class Change:
    """What one batch changes, all of it or nothing.

    Attributes:
        rows: the new rows, at most one per key.
        entry: the batch.
        version: its transaction version, which grows with every batch of a stream.
    """

    rows: pa.Table
    entry: StreamEntry
    version: int


class LatestStore(Protocol):
    """One writer's side of one table. Rows, position and fence change together.

    Attributes:
        writer: the app id of the stream, stable over checkpoints.
        generation: the attempt on whose behalf this process writes.
    """

    writer: str
    generation: int

    @property
    def latest(self) -> StreamEntry | None:
        """The newest batch in the table, as of `open` and of every `apply` since; None before the first."""

    @property
    def filled(self) -> bool:
        """Whether a batch has ever filled the table, of this epoch of the stream or another: it may hold rows."""

    def check(self) -> None:
        """Make sure that the table does not exist or can be opened. Nothing is changed, and no generation is fenced.

        Raises:
            RefusedError: it is there with other columns.
            UnreachableError: the store could not be asked.
        """

    def open(self) -> None:
        """Create the table where there is none, mark it for this generation, and read what it holds.

        Raises:
            FencedError: a newer generation has marked it.
            RefusedError: it is there with other columns.
            UnreachableError: the store could not be asked.
        """

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation owns the table.

        Raises:
            UnreachableError: the store could not be asked.
        """

    def apply(self, change: Change) -> None:
        """Change the table.

        Raises:
            FencedError: a newer generation owns it; nothing was changed.
            UnreachableError: the store could not be asked; whether it was changed is unknown.
        """

    def expire(self, before: datetime) -> None:
        """Remove the rows whose `time_column` is earlier than this instant (UTC). The newest batch stays what it is.

        Raises:
            FencedError: a newer generation owns it; nothing was changed.
            UnreachableError: the store could not be asked; whether it was changed is unknown.
        """


def newest(rows: pa.Table, keys: Sequence[str], newest_by: str | None) -> pa.Table:
    """Return one row per key: the newest.

    Raises:
        RefusedError: a key is null; or a key has several rows and nothing says which is newer.
    """
    for key in keys:
        if rows.column(key).null_count:
            raise RefusedError(
                f"{rows.column(key).null_count} rows have no {key!r}, which is a key, so there is no newest one.",
                fix="let the transform leave such rows out, or give them a value.",
            )
    oldest_first = pc.sort_indices(rows, [(newest_by or keys[0], "ascending", "at_start")])
    ages = pc.sort_indices(oldest_first)  # the inverse: the place of every row
    groups = rows.select(keys).append_column(_AGE, ages).group_by(list(keys))
    last = groups.aggregate([(_AGE, "max")]).column(f"{_AGE}_max")
    if len(last) == len(rows):
        return rows
    if newest_by is None:
        raise RefusedError(
            f"a batch brings {len(rows)} rows for {len(last)} keys ({', '.join(keys)}); nothing says which is newer.",
            fix="name a column by `newest_by`, or more keys.",
        )
    return rows.take(oldest_first.take(last))


_AGE = "sluice_age"
