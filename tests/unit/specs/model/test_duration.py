"""Durations as people write them."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.model.duration import format_duration, parse_duration

WHOLE_SECONDS = st.integers(0, 36_525 * 86_400).map(lambda seconds: timedelta(seconds=seconds))


@given(WHOLE_SECONDS)
def test_every_duration_survives_being_written_and_read(value: timedelta) -> None:
    assert parse_duration(format_duration(value)) == value


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3 hours", 10_800), ("60 minutes", 3600), ("90s", 90), ("1 day", 86_400), (" 10 MIN ", 600), ("0 seconds", 0)],
)
def test_common_spellings_are_read(text: str, seconds: int) -> None:
    assert parse_duration(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "soon", "3", "-3 hours", "1.5 hours", "3 weeks", "1 h 30 min", 5, None, True, []])
def test_anything_else_is_refused_with_an_example(text: object) -> None:
    with pytest.raises(ValueError, match="such as '3 hours'"):
        parse_duration(text)


@given(st.text(max_size=30) | st.integers().map(lambda number: f"{number} days"))
def test_no_text_makes_it_fail_otherwise(text: str) -> None:
    with suppress(ValueError):
        assert parse_duration(text) >= timedelta()


def test_more_than_a_century_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than a century"):
        parse_duration("999999999 days")
