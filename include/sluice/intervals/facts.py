"""What is known of one interval while a ledger is folded: its writings, and why it is dirty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sluice.intervals.reach import Reach
from sluice.intervals.rows import Verified, Written


@dataclass(frozen=True)
class Facts:
    """What is known of an interval: its writings, and why it is dirty, with who has read up to where knows better.

    `stays`: it counts as closed although a withdrawal has opened what is around it.
    """

    base: Written | None = None
    current: Written | None = None
    verified: Verified | None = None
    dirt: tuple[tuple[str, Reach], ...] = ()
    stays: bool = False

    def marked(self, why: str, reach: Reach) -> Facts:
        """Note that records below `reach` are lacking; what was compared before does not count any more."""
        # Of the same breach again the later end, unless it says nothing of all partitions that the earlier one names.
        others = tuple((own, before) for own, before in self.dirt if own != why or not reach.covers(before))
        return replace(self, verified=None, dirt=(*others, (why, reach)))

    def cleaned(self, raw: Reach) -> Facts:
        """Forget what a recompute that has read up to `raw` has made good."""
        return replace(self, dirt=tuple((why, reach) for why, reach in self.dirt if not raw.covers(reach)))

    @property
    def holds_rows(self) -> bool:
        """Whether any writer wrote rows: then its interval is like no other."""
        return any(written is not None and written.content.rows for written in (self.base, self.current))

    @property
    def is_alone(self) -> bool:
        """Whether its interval is like no other: it has rows or a state of its own."""
        return self.holds_rows or (self.current is not None and self.current.carried is not None)

    @property
    def settled(self) -> bool:
        """Whether the newest writing is the settler's."""
        return self.current is not None and self.current.generation is not None


NOTHING = Facts()


def writing(written: Written, raw: Reach) -> Callable[[Facts | None], Facts]:
    """Return what makes of an interval's facts those after a writing that is complete in itself.

    Args:
        written: the writing.
        raw: what its writer has read, which makes good what lies below it.
    """
    return lambda facts: Facts(written, written, dirt=(facts or NOTHING).cleaned(raw).dirt)


def correcting(written: Written) -> Callable[[Facts | None], Facts]:
    """Return what makes of an interval's facts those after a writing that only readers see."""
    return lambda facts: replace(facts or NOTHING, current=written)
