"""Which brokers can be the replicas of one partition, in terms of their cells."""

from __future__ import annotations

from sluice.provisioning.placement.cells import Cells, members

Chosen = tuple[int, ...]
"""Cells of chosen brokers, ascending; a cell occurs once for each of its brokers."""


class ValidSets:
    """The valid sets of one replication factor, asked for by what is chosen of them already.

    A set is valid if it lies on as many values of each domain as there are values, or replicas if those are fewer.
    Answers are remembered: the same few cells are asked for by many partitions.
    """

    def __init__(self, cells: Cells, replication: int) -> None:
        self.replication = replication
        self._cells = cells
        self._domains = [
            (alike, min(count, replication)) for alike, count in zip(cells.alike, cells.value_counts, strict=True)
        ]
        self._openings: dict[Chosen, int] = {}
        self._extendable: dict[Chosen, bool] = {}

    def openings(self, chosen: Chosen) -> int:
        """Return the cells from which one more broker can be chosen so that a valid set can still come."""
        known = self._openings.get(chosen)
        if known is None:
            last = len(chosen) == self.replication - 1
            known = self._openings[chosen] = self._useful(chosen) if last else self._some_opening(chosen)
        return known

    def _some_opening(self, chosen: Chosen) -> int:
        """Go through the cells that may do; what can follow one of them could as well have come first."""
        opening, undecided = 0, self._useful(chosen)
        while undecided:
            cell = next(members(undecided))
            undecided &= ~(1 << cell)
            if self.extendable(further := _and(chosen, cell)):
                opening |= 1 << cell | self.openings(further)
                undecided &= ~opening
        return opening

    def extendable(self, chosen: Chosen) -> bool:
        """Return whether some valid set contains brokers of these cells."""
        if len(chosen) == self.replication - 1:
            return self.openings(chosen) != 0
        known = self._extendable.get(chosen)
        if known is None:
            known = self._extendable[chosen] = self._search(chosen)
        return known

    def _search(self, chosen: Chosen) -> bool:
        if len(chosen) >= self.replication:
            spread = all(len({alike[cell] for cell in chosen}) >= required for alike, required in self._domains)
            return len(chosen) == self.replication and spread
        return any(self.extendable(_and(chosen, cell)) for cell in members(self._useful(chosen)))

    def _useful(self, chosen: Chosen) -> int:
        """Return the cells that have a broker left, and a new value wherever every further broker needs one.

        None if some domain lacks more values than there are brokers to come. For the last broker this is exact.
        """
        left = self.replication - len(chosen)
        useful = self._cells.all
        for alike, required in self._domains:
            seen = {alike[cell] for cell in chosen}
            missing = required - len(seen)
            if missing > left:
                return 0
            if missing == left:
                for same in seen:
                    useful &= ~same
        for cell in chosen:
            if chosen.count(cell) >= self._cells.sizes[cell]:
                useful &= ~(1 << cell)
        return useful


def _and(chosen: Chosen, cell: int) -> Chosen:
    return tuple(sorted((*chosen, cell)))
