"""What a transform may not do if one call is given the records of any number of intervals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

_MOST = 120


class Unbounded(Enum):
    """What is done with everything that a call is given: what that is, and what to do instead."""

    GROUP = ("makes one group of all records that a call is given", "group by a time, such as `window`")
    WINDOW = ("compares all records that a call is given", "partition by a time, such as `date_trunc`")
    LIMIT = ("chooses among all records that a call is given", "number the rows within a time, and keep the first ones")


@dataclass(frozen=True)
class UnboundedExpression:
    """An expression whose value depends on how many intervals one call of the transform is given.

    Attributes:
        text: as the code has it, or Spark's plan.
        kind: what it does.
        line: in the module; 0 where it comes from a plan.
    """

    text: str
    kind: Unbounded
    line: int = 0

    @property
    def message(self) -> str:
        """Why it is refused."""
        text = self.text if len(self.text) <= _MOST else f"{self.text[: _MOST - 1]}…"
        return f"`{text}` {self.kind.value[0]}, and with `scope: range` those may be of one interval or of many."

    @property
    def fix(self) -> str:
        """What to do."""
        return (
            f"{self.kind.value[1]}; or write `scope: interval` under the output, so that a call is given the records "
            "of one interval."
        )
