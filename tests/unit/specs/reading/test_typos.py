"""What `sluice check` says of the mistakes that people make, word by word: `typos.yaml` has the examples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.specs.bench import Bench

TYPOS: list[Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_name("typos.yaml").read_text(encoding="utf-8"))
TWO_MISTAKES = "output: sales\nx:\n  table: sales"


@pytest.mark.parametrize("typo", TYPOS, ids=[f"{n}-{typo['written'][:40]!r}" for n, typo in enumerate(TYPOS)])
def test_a_mistake_is_told_at_its_line_in_words_that_say_what_to_write(bench: Bench, typo: Mapping[str, Any]) -> None:
    bench.edit(typo["file"], typo["instead_of"], typo["written"])
    assert [str(fault) for fault in bench.scan().faults] == typo["says"]


def test_one_mistake_is_one_fault() -> None:
    assert len(TYPOS) >= 70
    assert [typo["written"] for typo in TYPOS if len(typo["says"]) != 1] == [TWO_MISTAKES]
