"""A sample of the simulation of settling, and mutants of its rules: see `tests.simulation.settling`."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.simulation.campaign import caught, keep, kept_seeds, run
from tests.simulation.code import Mutant
from tests.simulation.settling.mutants import MUTANTS, OF_LOSSES, OF_TWO_TOPICS
from tests.simulation.settling.scenario import LOSING, SETTLING

HISTORIES = 200
BUDGET = 3_000
"""Histories in which a mutant must be caught."""


def test_no_history_loses_doubles_or_hides_a_record() -> None:
    report = run(chain(kept_seeds(SETTLING.seeds), range(HISTORIES)), scenario=SETTLING)
    keep(report, SETTLING.seeds)
    assert report.failed is None, report.story


def test_no_history_hides_what_was_lost_before_it_was_read() -> None:
    report = run(chain(kept_seeds(LOSING.seeds), range(HISTORIES // 2)), scenario=LOSING)
    keep(report, LOSING.seeds)
    assert report.failed is None, report.story


@pytest.mark.parametrize("mutant", OF_LOSSES, ids=lambda mutant: mutant.name)
def test_a_mutant_of_losses_is_caught(mutant: Mutant) -> None:
    report = caught(mutant, chain([mutant.seed], range(BUDGET)), LOSING)
    assert report.failed is not None, f"in {BUDGET} histories nobody noticed that {mutant.name}"


@pytest.mark.parametrize("mutant", [*MUTANTS, *OF_TWO_TOPICS], ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    report = caught(mutant, chain([mutant.seed], range(BUDGET)), SETTLING)
    assert report.failed is not None, f"in {BUDGET} histories nobody noticed that {mutant.name}"
