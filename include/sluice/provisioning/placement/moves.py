"""How many replicas must move so that a given broker can lead a partition.

The cost of a partition and a broker: of all valid sets with that broker, the fewest members that hold no replica now.
It depends on where the replicas are only by their cells, the partition's *pattern*, and on the broker only by its cell
and by whether it holds a replica.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sluice.provisioning.placement.cells import Cells
from sluice.provisioning.placement.validity import Chosen, ValidSets

NEVER = 127
"""The cost of a broker that is in no valid set."""

_ROWS = 4096

Costs = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Present:
    """The replicas of a partition now, as numbers of brokers in the order of their cells, and the cells."""

    brokers: tuple[int, ...]
    pattern: Chosen

    @classmethod
    def of(cls, brokers: Sequence[int], cells: Cells) -> Present:
        """Return the replicas in that order."""
        ordered = sorted(brokers, key=lambda broker: (cells.of_broker[broker], broker))
        return cls(tuple(ordered), tuple(int(cells.of_broker[broker]) for broker in ordered))


@dataclass(frozen=True)
class _PatternMoves:
    """Fewest moves for one pattern.

    Attributes:
        staying: for each present replica, if it leads.
        coming: for a broker that comes, the cells in which that costs 1, 2, … moves.
    """

    staying: tuple[int, ...]
    coming: tuple[int, ...]


def kept(pattern: Chosen, count: int) -> Iterator[tuple[tuple[int, ...], Chosen]]:
    """Yield each choice of so many present replicas: their positions, and their cells."""
    for positions in combinations(range(len(pattern)), count):
        yield positions, tuple(pattern[position] for position in positions)


def move_costs(present: Sequence[Present], cells: Cells, valid: ValidSets) -> Costs:
    """Return the costs of partitions of one replication factor, a row each, with a column for each broker."""
    distinct = dict.fromkeys(partition.pattern for partition in present)
    patterns = {pattern: number for number, pattern in enumerate(distinct)}
    eligible = valid.openings(())
    by_pattern = [_pattern_moves(pattern, eligible, valid) for pattern in patterns]
    by_cell = _by_cell(by_pattern, cells, valid.replication)
    rows = np.fromiter((patterns[partition.pattern] for partition in present), np.intp, len(present))
    costs = np.empty((len(present), len(cells.of_broker)), dtype=np.int8)
    for start in range(0, len(rows), _ROWS):
        costs[start : start + _ROWS] = by_cell[rows[start : start + _ROWS]][:, cells.of_broker]
    for row, partition in enumerate(present):
        if partition.brokers:
            costs[row, partition.brokers] = by_pattern[rows[row]].staying
    return costs


def _by_cell(by_pattern: Sequence[_PatternMoves], cells: Cells, replication: int) -> Costs:
    by_cell = np.full((len(by_pattern), len(cells.sizes)), NEVER, dtype=np.int8)
    for moves in range(1, replication + 1):
        by_cell[cells.unpacked([pattern.coming[moves - 1] for pattern in by_pattern])] = moves
    return by_cell


def _pattern_moves(pattern: Chosen, eligible: int, valid: ValidSets) -> _PatternMoves:
    """Keep as many replicas as possible first, then one less, until it is known of every eligible cell."""
    staying = [NEVER] * len(pattern)
    coming = [0] * valid.replication
    undecided = eligible
    for count in range(min(len(pattern), valid.replication), -1, -1):
        moves = valid.replication - count
        seen: dict[Chosen, bool] = {}
        for positions, chosen in kept(pattern, count):
            if chosen not in seen:
                seen[chosen] = valid.extendable(chosen)
                if moves and undecided and seen[chosen]:
                    coming[moves - 1] |= valid.openings(chosen) & undecided
            if seen[chosen]:
                for position in positions:
                    staying[position] = min(staying[position], moves)
        if moves:
            undecided &= ~coming[moves - 1]
        if not undecided:
            break
    return _PatternMoves(tuple(staying), tuple(coming))
