"""Brokers grouped into cells: those that share their value in every domain are interchangeable for the rule.

A set of cells is a bit mask in one integer. A thousand cells are sixteen machine words, so that the questions that are
asked a million times (which cells have a new value here, and there) cost no loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sluice.provisioning.placement.topology import Topology


class Cells:
    """The cells of a topology, numbered in the order of their values; brokers are numbered in the order of their ids.

    Attributes:
        sizes: brokers per cell.
        of_broker: the cell of every broker.
        alike: per domain and cell, the cells that have the same value.
        value_counts: distinct values per domain.
    """

    def __init__(self, topology: Topology) -> None:
        tuples = [tuple(broker.domains[name] for name in topology.domains) for broker in topology.brokers]
        self.values = sorted(set(tuples))
        numbers = {values: number for number, values in enumerate(self.values)}
        self.of_broker: npt.NDArray[np.intp] = np.array([numbers[values] for values in tuples], dtype=np.intp)
        self.sizes: list[int] = np.bincount(self.of_broker, minlength=len(self.values)).tolist()
        self.alike = [self._alike(domain) for domain in range(len(topology.domains))]
        self.value_counts = [len(topology.values(name)) for name in topology.domains]

    def _alike(self, domain: int) -> list[int]:
        masks: dict[str, int] = {}
        for number, values in enumerate(self.values):
            masks[values[domain]] = masks.get(values[domain], 0) | 1 << number
        return [masks[values[domain]] for values in self.values]

    @cached_property
    def all(self) -> int:
        """The set of all cells."""
        return (1 << len(self.values)) - 1

    @cached_property
    def width(self) -> int:
        """Bytes that hold a set of cells."""
        return (len(self.values) + 7) // 8

    def unpacked(self, sets: list[int]) -> npt.NDArray[np.bool_]:
        """Return sets of cells as rows, with one column for each cell."""
        packed = b"".join(cells.to_bytes(self.width, "little") for cells in sets)
        rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(sets), self.width)
        return np.unpackbits(rows, axis=1, count=len(self.values), bitorder="little").view(np.bool_)


def members(cells: int) -> Iterator[int]:
    """Yield the numbers of the cells in a set, in ascending order."""
    while cells:
        lowest = cells & -cells
        yield lowest.bit_length() - 1
        cells ^= lowest
