"""A small sample of the benchmark `mutants`, another one each day; all reasons of survivors are current."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from benchmarks.mutants import mutants

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1500)]

SAMPLE = 5
FEW = 2
"""Survivors without a reason that five of them may have: one in twenty of all do."""


def test_a_few_mutants_are_noticed() -> None:
    figures, notes = mutants.run("small", f"{datetime.now(UTC):%Y%m%d}")
    assert figures["mutants"] == SAMPLE
    assert figures["by_hand_survived"] == 0, notes["unnoticed"]
    assert figures["survived"] - figures["equivalent"] <= FEW, notes["survivors"]
