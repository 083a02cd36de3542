"""Mutants that were made by hand, for what crosses processes: the simulations must catch them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tests.simulation.campaign import caught
from tests.simulation.code import Mutant
from tests.simulation.mutants import MUTANTS
from tests.simulation.settling import mutants as settling
from tests.simulation.settling.scenario import LOSING, SETTLING

_HISTORIES = 3_000
"""In which a mutant must be caught."""


def missed(most: int | None = None) -> tuple[int, list[str]]:
    """Return how many there are, and the names of those that no history noticed.

    Args:
        most: only so many of each simulation are tried; None: all.
    """
    tried = list(_outcomes(most))
    return len(tried), [name for name, noticed in tried if not noticed]


def _outcomes(most: int | None) -> Iterator[tuple[str, bool]]:
    for mutant in MUTANTS[:most]:
        yield mutant.name, caught(mutant, _histories(mutant)).failed is not None
    for mutant in (*settling.MUTANTS, *settling.OF_TWO_TOPICS)[:most]:
        yield mutant.name, caught(mutant, _histories(mutant), SETTLING).failed is not None
    for mutant in settling.OF_LOSSES[:most]:
        yield mutant.name, caught(mutant, _histories(mutant), LOSING).failed is not None


def _histories(mutant: Mutant) -> chain[int]:
    return chain([mutant.seed], range(_HISTORIES))
