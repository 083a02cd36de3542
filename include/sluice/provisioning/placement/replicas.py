"""The replicas of the partitions that must move, once their leaders are known: as even as can be.

Every choice here has exactly the moves that the leader costs; what is chosen among is which replica goes and which
broker takes its place. The greedy choice minimises the sum of the squared replica counts, then the bytes; a few rounds
in which each partition chooses again, knowing the others, improve on its order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sluice.provisioning.placement.cells import Cells
from sluice.provisioning.placement.moves import Present, kept
from sluice.provisioning.placement.validity import Chosen, ValidSets

_ROUNDS = 4
_TAKEN = np.iinfo(np.int64).max

Choice = tuple[int, ...]
"""The brokers of one partition, by number: the leader, those that stay, those that come."""


@dataclass(frozen=True)
class Task:
    """A partition that must move.

    Attributes:
        now: its replicas, in their order.
        leader: who will lead it.
        moves: how many of its replicas will be new.
        size: bytes of one replica.
    """

    now: Choice
    leader: int
    moves: int
    size: int
    valid: ValidSets


class Loads:
    """Replicas and bytes per broker."""

    def __init__(self, brokers: int) -> None:
        self.replicas = np.zeros(brokers, dtype=np.int64)
        self.bytes = np.zeros(brokers, dtype=np.int64)

    def add(self, brokers: Sequence[int], size: int, *, times: int = 1) -> None:
        """Put a replica on each of these brokers, or take it away with -1 times."""
        self.replicas[list(brokers)] += times
        self.bytes[list(brokers)] += times * size

    def weight(self, brokers: Sequence[int]) -> tuple[int, int, Choice]:
        """Return what a choice adds to the imbalance; equal ones are ordered by their brokers."""
        chosen = list(brokers)
        return int(self.replicas[chosen].sum()), int(self.bytes[chosen].sum()), tuple(sorted(chosen))


def choose_replicas(tasks: Mapping[int, Task], loads: Loads, cells: Cells) -> dict[int, Choice]:
    """Return the replicas of partitions that must move.

    Args:
        tasks: by number of the partition, in the order in which they choose.
        loads: of all other partitions; will have these too.
        cells: of the brokers.
    """
    chooser = _Chooser(loads, cells)
    chosen: dict[int, Choice] = {number: (task.leader,) for number, task in tasks.items()}
    for task in tasks.values():
        loads.add((task.leader,), task.size)
    for number, task in tasks.items():
        loads.add(chosen[number], task.size, times=-1)
        chosen[number] = chooser.best(task)
        loads.add(chosen[number], task.size)
    for _ in range(_ROUNDS):
        changed = False
        for number, task in tasks.items():
            loads.add(chosen[number], task.size, times=-1)
            better = chooser.best(task)
            if loads.weight(better) < loads.weight(chosen[number]):
                chosen[number], changed = better, True
            loads.add(chosen[number], task.size)
        if not changed:
            break
    return chosen


class _Chooser:
    def __init__(self, loads: Loads, cells: Cells) -> None:
        self._loads, self._cells = loads, cells
        self._rows: dict[int, npt.NDArray[np.bool_]] = {}

    def best(self, task: Task) -> Choice:
        """Return the lightest choice for a partition."""
        choices = [self._filled(staying, task) for staying in self._staying(task)]
        return min(choices, key=self._loads.weight)

    def _staying(self, task: Task) -> Iterator[Choice]:
        """Yield the ways to keep as many replicas as the plan keeps, the leader first whether it stays or comes."""
        present = Present.of(task.now, self._cells)
        for positions, _ in kept(present.pattern, task.valid.replication - task.moves):
            staying = tuple(present.brokers[position] for position in positions)
            if task.leader in present.brokers and task.leader not in staying:
                continue
            choice = (task.leader, *(broker for broker in staying if broker != task.leader))
            if task.valid.extendable(self._chosen(choice)):
                yield choice

    def _filled(self, choice: Choice, task: Task) -> Choice:
        """Add brokers one by one, each the lightest with which a valid set can still come."""
        while len(choice) < task.valid.replication:
            openings = task.valid.openings(self._chosen(choice))
            replicas = np.where(self._row(openings), self._loads.replicas, _TAKEN)
            replicas[list(choice)] = _TAKEN
            lightest = np.flatnonzero(replicas == replicas.min())
            choice = (*choice, int(lightest[self._loads.bytes[lightest].argmin()]))
        return choice

    def _row(self, cells: int) -> npt.NDArray[np.bool_]:
        """Return for each broker whether it lies in one of these cells."""
        row = self._rows.get(cells)
        if row is None:
            if len(self._rows) >= 4096:  # noqa: PLR2004  some megabytes
                self._rows.clear()
            row = self._rows[cells] = self._cells.unpacked([cells])[0][self._cells.of_broker]
        return row

    def _chosen(self, brokers: Sequence[int]) -> Chosen:
        return tuple(sorted(int(self._cells.of_broker[broker]) for broker in brokers))
