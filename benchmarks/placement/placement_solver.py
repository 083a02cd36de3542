"""The same leaders by a solver: the costs as a mixed-integer program for HiGHS, with the bounds of the loads given."""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, kron, vstack

from sluice.provisioning.placement.bounds import leader_bounds
from sluice.provisioning.placement.cells import Cells
from sluice.provisioning.placement.leaders import balanced_leaders
from sluice.provisioning.placement.moves import NEVER, Present, move_costs
from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.topology import Topology
from sluice.provisioning.placement.validity import ValidSets


def compare(topology: Topology, partitions: list[Partition], limit: float) -> dict[str, float | int | bool | None]:
    """Return the seconds and moves of both for the leaders of partitions with three replicas each.

    Args:
        topology: with some valid set for three.
        partitions: as they are.
        limit: seconds after which the solver gives up; then its moves are None.
    """
    cells = Cells(topology)
    numbers = {broker.id: number for number, broker in enumerate(topology.brokers)}
    present = [Present.of([numbers[broker] for broker in partition.replicas], cells) for partition in partitions]
    costs = move_costs(present, cells, ValidSets(cells, 3))
    counted = np.flatnonzero((costs < NEVER).any(axis=0)).astype(np.int64)
    eligible = {3: (costs < NEVER).any(axis=0)}
    fixed = np.zeros(len(numbers), dtype=np.int64)
    bounds = leader_bounds({3: len(partitions)}, eligible, fixed)
    first = np.array([numbers[partition.replicas[0]] for partition in partitions])
    begin = time.perf_counter()
    leaders = balanced_leaders(costs, first, bounds, fixed, counted)
    ours = time.perf_counter() - begin
    moves = int(costs[np.arange(len(partitions)), leaders].sum())
    begin = time.perf_counter()
    solved = _solved(costs[:, counted].astype(float), bounds, limit)
    return {
        "seconds": round(ours, 3),
        "solver_seconds": round(time.perf_counter() - begin, 3),
        "moves": moves,
        "solver_moves": solved,
    }


def _solved(costs: np.ndarray, loads: range, limit: float) -> int | None:
    """Return the least sum of costs."""
    partitions, brokers = costs.shape
    once = kron(csr_array(np.eye(partitions)), np.ones((1, brokers)), format="csr")
    led = kron(np.ones((1, partitions)), csr_array(np.eye(brokers)), format="csr")
    low = np.append(np.ones(partitions), np.full(brokers, loads.start))
    high = np.append(np.ones(partitions), np.full(brokers, loads.stop - 1))
    found = milp(
        costs.ravel(),
        constraints=LinearConstraint(vstack([once, led]), low, high),
        bounds=Bounds(0, 1),
        integrality=np.ones(costs.size),
        options={"time_limit": limit},
    )
    return round(found.fun) if found.status == 0 else None
