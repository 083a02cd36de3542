"""The state that intervals hand on to the next one, as commits name it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Carried:
    """Which states an interval continued, and which it left: digests of their content by the names of the tables.

    Attributes:
        before: those that its rows are made of; nothing where it is the first.
        after: those that the next interval continues.
    """

    before: Mapping[str, str]
    after: Mapping[str, str]


@dataclass(frozen=True)
class LeftState:
    """The state that an interval has left.

    Attributes:
        start: of the interval; None: there is none, and an empty state is continued.
        digests: of the content of each carried table, by name.
    """

    start: datetime | None = None
    digests: Mapping[str, str] = field(default_factory=dict)

    def or_newer(self, other: LeftState) -> LeftState:
        """Return the one of the later interval; of one interval the other one."""
        newer = self.start is None or (other.start is not None and other.start >= self.start)
        return other if newer else self


NO_STATE = LeftState()
