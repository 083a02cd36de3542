"""The optimum of a placement, by enumeration of all sets of brokers and a solver: no code of the planner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_matrix

from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.topology import Topology

Set = frozenset[int]


@dataclass(frozen=True)
class Optimum:
    """The best that there is.

    Attributes:
        infeasible: keys of partitions for which no valid set exists.
        moves: the fewest at that skew.
    """

    infeasible: frozenset[tuple[str, int]]
    leader_skew: int
    moves: int


def valid_sets(topology: Topology, replication: int) -> list[Set]:
    """Return every valid set of so many brokers, by checking all sets."""
    required = {
        domain: min(len({broker.domains[domain] for broker in topology.brokers}), replication)
        for domain in topology.domains
    }
    return [
        frozenset(broker.id for broker in chosen)
        for chosen in combinations(topology.brokers, replication)
        if all(len({broker.domains[domain] for broker in chosen}) >= count for domain, count in required.items())
    ]


def optimum(topology: Topology, partitions: Sequence[Partition]) -> Optimum:
    """Return the best leader skew, and the fewest moves with it."""
    sets = {factor: valid_sets(topology, factor) for factor in {p.replication for p in partitions}}
    eligible = sorted(set().union(*(chosen for found in sets.values() for chosen in found)))
    placed = [partition for partition in partitions if sets[partition.replication]]
    rest = [partition for partition in partitions if not sets[partition.replication]]
    fixed = Counter(partition.replicas[0] for partition in rest if partition.replicas)
    infeasible = frozenset(partition.key for partition in rest)
    if not placed:
        return Optimum(infeasible, 0, 0)

    @cache
    def costs(replication: int, present: Set) -> Mapping[int, int]:
        """Return the fewest moves per leader."""
        found: dict[int, int] = {}
        for chosen in sets[replication]:
            moves = len(chosen - present)
            for leader in chosen:
                found[leader] = min(found.get(leader, moves), moves)
        return found

    table = [costs(partition.replication, frozenset(partition.replicas)) for partition in placed]
    return Optimum(infeasible, *_solved(table, eligible, fixed))


def _solved(table: Sequence[Mapping[int, int]], eligible: Sequence[int], fixed: Mapping[int, int]) -> tuple[int, int]:
    arcs = [(number, leader, cost) for number, row in enumerate(table) for leader, cost in sorted(row.items())]
    count, most, least = len(arcs), len(arcs), len(arcs) + 1
    rows = lil_matrix((len(table) + 2 * len(eligible) + 1, count + 2))
    low, high = np.full(rows.shape[0], -np.inf), np.full(rows.shape[0], np.inf)
    low[: len(table)] = high[: len(table)] = 1
    place = {broker: number for number, broker in enumerate(eligible)}
    for column, (number, leader, _) in enumerate(arcs):
        rows[number, column] = 1
        for row in (len(table) + place[leader], len(table) + len(eligible) + place[leader]):
            rows[row, column] = 1
    for broker, number in place.items():
        above, below = len(table) + number, len(table) + len(eligible) + number
        rows[above, most] = rows[below, least] = -1
        high[above] = low[below] = -fixed.get(broker, 0)
    rows[-1, most], rows[-1, least] = 1, -1
    bounds = Bounds(np.zeros(count + 2), np.append(np.ones(count), [np.inf, np.inf]))
    skew = _minimum(np.append(np.zeros(count), [1, -1]), rows, low, high, bounds)
    high[-1] = skew
    return skew, _minimum(np.append([float(cost) for *_, cost in arcs], [0, 0]), rows, low, high, bounds)


def _minimum(objective: np.ndarray, rows: lil_matrix, low: np.ndarray, high: np.ndarray, bounds: Bounds) -> int:
    constraint = LinearConstraint(rows.tocsr(), low, high)
    found = milp(objective, constraints=constraint, bounds=bounds, integrality=np.ones(len(objective)))
    assert found.success, found.message
    return round(found.fun)
