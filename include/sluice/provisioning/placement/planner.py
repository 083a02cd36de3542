"""The plan: every partition that can be valid is, leaders are even, and as few replicas as possible move.

In strict order: validity, the leaders' skew, moves, the replicas' skew, bytes. The first three are exact; the last two
are balanced among the plans that the first three leave. Partitions of a replication factor for which no valid set
exists stay as they are: a move that ends invalid would cost and prove nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sluice.provisioning.placement.bounds import Brokers, leader_bounds
from sluice.provisioning.placement.cells import Cells
from sluice.provisioning.placement.leaders import Numbers, balanced_leaders
from sluice.provisioning.placement.moves import NEVER, Costs, Present, move_costs
from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.replicas import Choice, Loads, Task, choose_replicas
from sluice.provisioning.placement.topology import Topology
from sluice.provisioning.placement.validity import ValidSets


def plan_placement(topology: Topology, partitions: Iterable[Partition]) -> tuple[Partition, ...]:
    """Return the partitions with their planned replicas, ordered by topic and number.

    The order of the arguments makes no difference, and a plan that is planned again stays as it is.

    Args:
        topology: all brokers, also those without a replica.
        partitions: as they are now; replicas lie on brokers of the topology, no two of one partition on the same.
    """
    ordered = tuple(sorted(partitions, key=lambda partition: partition.key))
    return _Planning(topology, ordered).planned() if ordered else ()


class _Planning:
    """One plan. Brokers and partitions are numbers here: their places in the topology and in `ordered`."""

    def __init__(self, topology: Topology, ordered: Sequence[Partition]) -> None:
        self._ordered = ordered
        self._ids = [broker.id for broker in topology.brokers]
        numbers = {identity: number for number, identity in enumerate(self._ids)}
        self._now = [tuple(numbers[identity] for identity in partition.replicas) for partition in ordered]
        self._cells = Cells(topology)
        factors = sorted({partition.replication for partition in ordered})
        self._valid = {factor: ValidSets(self._cells, factor) for factor in factors}
        self._eligible = {factor: self._eligible_for(valid) for factor, valid in self._valid.items()}
        possible = {factor for factor, brokers in self._eligible.items() if brokers.any()}
        self._placed = [number for number, partition in enumerate(ordered) if partition.replication in possible]

    def planned(self) -> tuple[Partition, ...]:
        """Return the plan."""
        if not self._placed:
            return tuple(self._ordered)
        costs = self._costs()
        leaders = self._leaders(costs)
        replicas = self._replicas(costs, leaders)
        return tuple(
            partition.on(tuple(self._ids[broker] for broker in replicas[number]))
            for number, partition in enumerate(self._ordered)
        )

    def _eligible_for(self, valid: ValidSets) -> Brokers:
        brokers: Brokers = self._cells.unpacked([valid.openings(())])[0][self._cells.of_broker]
        return brokers

    def _costs(self) -> Costs:
        """Return the costs of the partitions that are placed, in their order."""
        costs = np.empty((len(self._placed), len(self._ids)), dtype=np.int8)
        for factor, valid in self._valid.items():
            rows = [row for row, number in enumerate(self._placed) if self._ordered[number].replication == factor]
            if rows:
                present = [Present.of(self._now[self._placed[row]], self._cells) for row in rows]
                costs[rows] = move_costs(present, self._cells, valid)
        return costs

    def _leaders(self, costs: Costs) -> Numbers:
        counts = Counter(self._ordered[number].replication for number in self._placed)
        eligible = {factor: self._eligible[factor] for factor in sorted(counts)}
        fixed = np.zeros(len(self._ids), dtype=np.int64)
        for number in set(range(len(self._ordered))) - set(self._placed):
            if self._now[number]:
                fixed[self._now[number][0]] += 1
        counted = np.flatnonzero((costs < NEVER).any(axis=0)).astype(np.int64)
        present = np.array([self._now[number][0] if self._now[number] else -1 for number in self._placed])
        return balanced_leaders(costs, present, leader_bounds(counts, eligible, fixed), fixed, counted)

    def _replicas(self, costs: Costs, leaders: Numbers) -> Mapping[int, Choice]:
        """Return the replicas of every partition: the leader, then those that stay in their order, then the new."""
        chosen = dict(enumerate(self._now))
        loads = Loads(len(self._ids))
        tasks: dict[int, Task] = {}
        for row, number in enumerate(self._placed):
            partition, now, leader = self._ordered[number], self._now[number], int(leaders[row])
            moves = int(costs[row, leader])
            if moves or len(now) != partition.replication:
                tasks[number] = Task(now, leader, moves, partition.size, self._valid[partition.replication])
            else:
                chosen[number] = (leader, *(broker for broker in now if broker != leader))
        for number, partition in enumerate(self._ordered):
            if number not in tasks:
                loads.add(chosen[number], partition.size)
        largest_first = dict(sorted(tasks.items(), key=lambda item: (-item[1].size, item[0])))
        for number, choice in choose_replicas(largest_first, loads, self._cells).items():
            chosen[number] = _ordered_as(choice, self._now[number])
        return chosen


def _ordered_as(choice: Choice, now: Choice) -> Choice:
    """Return the leader first, then what stays in its present order, then what comes, in the order of the ids."""
    leader, rest = choice[0], set(choice[1:])
    return (leader, *(broker for broker in now if broker in rest), *sorted(rest - set(now)))
