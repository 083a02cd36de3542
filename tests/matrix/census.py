"""What became of records: how many are lost, there twice, or there although nobody has sent them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Census:
    """Counts of records.

    Attributes:
        lost: sent and not there.
        twice: there more often than they were sent.
        phantom: there, and never sent.
    """

    lost: int
    twice: int
    phantom: int

    @classmethod
    def of(cls, sent: Iterable[Hashable], found: Iterable[Hashable], *, unknown: Iterable[Hashable] = ()) -> Census:
        """Compare what was sent with what is there, each as often as it is.

        Args:
            sent: what was acknowledged.
            found: what is there.
            unknown: what may be there once or not at all, since nothing was heard of it.
        """
        due, there = Counter(sent), Counter(found)
        allowed = due + Counter(unknown)
        phantom = sum(count for each, count in there.items() if each not in allowed)
        return cls((due - there).total(), (there - allowed).total() - phantom, phantom)

    @property
    def is_clean(self) -> bool:
        """Whether every record is where it must be, and no other."""
        return self == CLEAN


CLEAN = Census(0, 0, 0)
