from __future__ import annotations

import re

import pytest

from sluice.quality.reasons import FAULTS, Reason, advice_of
from sluice.settings import PACKAGE

DECODER = PACKAGE / "jars" / "java" / "sluice" / "decoding" / "Fault.java"


def test_the_decoder_finds_the_faults_and_calls_them_the_same() -> None:
    assert re.findall(r'fromString\("(\w+)"\)', DECODER.read_text()) == list(FAULTS) == list(Reason)[: len(FAULTS)]


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_says_what_it_means_and_what_to_do(reason: Reason) -> None:
    meaning, advice = reason.meaning, reason.what_to_do
    assert meaning
    assert advice


@pytest.mark.parametrize("reason", list(Reason))
@pytest.mark.parametrize("detail", [None, "", "delay is out of its domain"])
def test_a_detail_that_says_nothing_of_a_time_changes_no_advice(reason: Reason, detail: str | None) -> None:
    assert advice_of(reason, detail) == reason.what_to_do


def test_a_time_that_is_written_otherwise_can_be_declared() -> None:
    assert "`epoch: milliseconds`" in advice_of(Reason.WRONG_TYPE, "at is a whole number, and no time")
    assert "`zone: UTC`" in advice_of(Reason.WRONG_TYPE, "at is a time without a zone")
