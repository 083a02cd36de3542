"""Enums whose members carry their meaning and advice, for messages, `sluice explain` and the documentation."""

from __future__ import annotations

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
