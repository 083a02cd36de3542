from __future__ import annotations

import re

import pytest

from sluice.quality.reasons import FAULTS, Reason
from sluice.settings import PACKAGE

DECODER = PACKAGE / "jars" / "java" / "sluice" / "decoding" / "Fault.java"


def test_the_decoder_finds_the_faults_and_calls_them_the_same() -> None:
    assert re.findall(r'fromString\("(\w+)"\)', DECODER.read_text()) == list(FAULTS) == list(Reason)[: len(FAULTS)]


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_says_what_it_means_and_what_to_do(reason: Reason) -> None:
    meaning, advice = reason.meaning, reason.what_to_do
    assert meaning
    assert advice
