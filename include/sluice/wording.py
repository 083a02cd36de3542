"""Words of messages: enums that carry their meaning and advice, and numbers and lists as sentences say them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Self


class ExplainedEnum(StrEnum):
    """A set of words. A member is declared as `WORD = "word", "its meaning"`, with the advice as a third string.

    Attributes:
        meaning: one clause without a full stop.
        what_to_do: one clause without a full stop; empty if there is nothing to do.
    """

    meaning: str
    what_to_do: str

    def __new__(cls, word: str, meaning: str = "", what_to_do: str = "") -> Self:
        """Make a member; its value is the word alone.

        Every member has a meaning; the default is for type checkers, which take `Health("OK")` for a call of this.
        """
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning, member.what_to_do = meaning, what_to_do
        return member


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 record` and `1,200 records`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(items: Sequence[object], most: int = 8, noun: str = "") -> str:
    """Return the first items, and how many more there are: `a, b and 3 more`.

    Args:
        items: in the order to name them in.
        most: how many are named.
        noun: what they are, in the plural; omitted: it follows from the text around.
    """
    more = f" and {len(items) - most} more{f' {noun}' if noun else ''}" if len(items) > most else ""
    return ", ".join(map(str, items[:most])) + more


_UNITS = ((2 * 86_400, 86_400, "days"), (2 * 3_600, 3_600, "h"), (120, 60, "min"))


def span(seconds: float) -> str:
    """Return a duration in its largest unit that makes at least 2, such as `5 min`."""
    for minimum, size, unit in _UNITS:
        if seconds >= minimum:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
