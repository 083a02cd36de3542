"""Where newest values come from: the port to topics and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True)
class Row:
    """A row that was delivered.

    Attributes:
        fields: its columns.
        at: when (UTC); None where the source does not know it.
    """

    fields: Mapping[str, Any]
    at: datetime | None


@dataclass(frozen=True)
class SourceRead:
    """The result of one read.

    Attributes:
        rows: oldest first.
        whole: whether these are all rows of the output: every other key is gone.
        unreadable: how many records were left out because they are no rows.
        caught_up: whether nothing is left to read at this moment.
        partial: whether the source was opened behind its beginning: a key that was not read may have a value.
    """

    rows: Sequence[Row] = ()
    whole: bool = False
    unreadable: int = 0
    caught_up: bool = True
    partial: bool = False


class LiveSource(Protocol):
    """Reads one output, from its opening on. For one thread."""

    def read(self, seconds: float) -> SourceRead:
        """Return what has come, after at most so many seconds.

        Raises:
            UnreachableError: it could not be read; the caller opens another source.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...
