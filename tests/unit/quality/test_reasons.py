from __future__ import annotations

import re

import pytest

from sluice.quality.reasons import EXPLANATIONS, FAULTS, Reason
from sluice.settings import PACKAGE, settings

DECODER = PACKAGE / "jars" / "java" / "sluice" / "decoding" / "Fault.java"


def test_the_documentation_has_every_reason_in_its_order() -> None:
    page = (settings().home / "docs" / "validation.md").read_text()
    table = page[page.index("## Reasons") : page.index("## Times")]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(Reason)


def test_the_decoder_finds_the_faults_and_calls_them_the_same() -> None:
    assert re.findall(r'fromString\("(\w+)"\)', DECODER.read_text()) == list(FAULTS) == list(Reason)[: len(FAULTS)]


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_says_what_it_means_and_what_to_do(reason: Reason) -> None:
    meaning, advice = EXPLANATIONS[reason]
    assert meaning
    assert advice
