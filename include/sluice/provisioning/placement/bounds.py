"""How evenly partitions can be led at best: the most and the least that a broker must lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

Brokers = npt.NDArray[np.bool_]
"""One truth per broker."""


def leader_bounds(counts: Mapping[int, int], eligible: Mapping[int, Brokers], fixed: npt.NDArray[np.int64]) -> range:
    """Return the range in which the number of leaders of every eligible broker can lie, as narrow as can be.

    The loads that can be had are the integer points of a base polyhedron (a transportation from factors to brokers).
    In such a set one and the same point has the smallest maximum and the greatest minimum, so that each may be
    sought by itself, by Hall's condition.

    Args:
        counts: partitions to lead per replication factor.
        eligible: per factor, the brokers that occur in some valid set of it.
        fixed: per broker, partitions that it leads in any case.

    Returns:
        From the least to the most, both included.
    """
    somewhere = np.logical_or.reduce(list(eligible.values()))
    groups = list(chain.from_iterable(combinations(counts, size) for size in range(1, len(counts) + 1)))
    total = int(sum(counts.values()))

    def within(most: int) -> bool:
        capacity = np.maximum(most - fixed, 0)
        return int(fixed[somewhere].max()) <= most and all(
            sum(counts[factor] for factor in group)
            <= capacity[np.logical_or.reduce([eligible[factor] for factor in group])].sum()
            for group in groups
        )

    def reached(least: int) -> bool:
        shortage = np.where(somewhere, np.maximum(least - fixed, 0), 0)
        return all(
            shortage[~_led_by_others(group, eligible) & somewhere].sum() <= sum(counts[factor] for factor in group)
            for group in groups
        )

    greatest = total + int(fixed.max())
    most = _first(within, greatest)
    least = _first(lambda value: not reached(value), greatest + 1) - 1
    return range(least, most + 1)


def _led_by_others(group: tuple[int, ...], eligible: Mapping[int, Brokers]) -> Brokers:
    """Return the brokers that partitions outside a group can have as their leader."""
    others = [brokers for factor, brokers in eligible.items() if factor not in group]
    led: Brokers = np.logical_or.reduce(others) if others else np.zeros_like(next(iter(eligible.values())))
    return led


def _first(holds: Callable[[int], bool], greatest: int) -> int:
    """Return the smallest number from 0 to `greatest` for which something holds that holds for all greater ones."""
    low, high = 0, greatest
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
