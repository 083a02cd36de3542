"""A sample of the simulation of a unit's life, and mutants of its code: see `tests.simulation`."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from tests.simulation import campaign
from tests.simulation.campaign import caught, keep, kept_seeds, run
from tests.simulation.code import Mutant, mutated, real
from tests.simulation.crew import Crew
from tests.simulation.history import play, quietly
from tests.simulation.mutants import MUTANTS
from tests.simulation.transitions import Tally

HISTORIES = 2_000
BUDGET = 3_000
"""Histories in which a mutant must be caught."""


def test_no_history_breaks_a_rule_and_every_history_ends_as_wished() -> None:
    report = run(chain(kept_seeds(), range(HISTORIES)))
    keep(report)
    assert report.failed is None, report.story
    assert report.tally.unknown() == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    report = caught(mutant, chain([mutant.seed], range(BUDGET)))
    assert report.failed is not None, f"in {BUDGET} histories nobody noticed that {mutant.name}"


def test_what_fails_is_told_shrunk_and_its_seed_is_replayed_first_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "SEEDS", tmp_path / "seeds.txt")
    campaign.SEEDS.write_text("# none yet\n", encoding="utf-8")
    skips = next(mutant for mutant in MUTANTS if "skipped" in mutant.name)
    with mutated(skips) as code:
        report = run(range(100), code)
    keep(report)
    keep(report)
    assert kept_seeds() == [report.failed]
    breach, *story = report.story.splitlines()
    assert breach == "local.flights.g2 was reserved while generation 1 is intent"
    assert story[-1] == f"BREACH: {breach}"
    assert len(story) < 15


def test_a_history_is_a_function_of_its_seed_and_of_its_choices() -> None:
    with Crew() as crew, quietly():
        first = play(crew, real(), 1, Tally(), tells=True)
        assert first == play(crew, real(), 1, Tally(), tells=True)
        assert first == play(crew, real(), first.choices, Tally(), tells=True)


def test_a_mutant_whose_text_is_gone_is_no_mutant() -> None:
    gone = Mutant("nothing is wrong", "sluice.streams.life.claim", "no such text", "")
    with pytest.raises(ValueError, match=r"nothing is wrong: .* has 0 places"), mutated(gone):
        pass
