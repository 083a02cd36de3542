"""Formats of times as regular expressions, against Python's own reading and writing."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.expectations.strftime import DIRECTIVES, ZONE, text_format

FORMATS = st.lists(st.sampled_from(sorted(DIRECTIVES)), unique=True, min_size=1).flatmap(
    lambda directives: st.sampled_from(["-", " ", "", ".", "%%", "T("]).map(
        lambda between: between.join(f"%{directive}" for directive in directives)
    )
)


@given(FORMATS, st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_what_a_format_writes_its_pattern_matches_as_python_does(strftime_format: str, moment: datetime) -> None:
    text = moment.strftime(strftime_format)
    found = re.match(text_format(strftime_format).pattern, text)
    try:
        datetime.strptime(text, strftime_format)  # noqa: DTZ007
    except ValueError:
        return  # without anything between them, digits read otherwise than they were written
    assert found is not None
    assert found.end() == len(text)


@given(st.text(st.sampled_from("0123456789:+-.Zz"), max_size=14))
def test_a_distance_from_utc_is_one_as_python_reads_it(text: str) -> None:
    try:
        datetime.strptime(text, "%z")
        reads = True
    except ValueError:
        reads = False
    pattern = re.match(text_format("%z").pattern, text)
    assert reads == bool(pattern and pattern.end() == len(text) and re.fullmatch(ZONE, pattern[1]))


@pytest.mark.parametrize(
    ("strftime_format", "why"),
    [
        ("%Q", "'%Q' is no directive"),
        ("2013", "has no directive"),
        ("%Y %Y", "%Y appears there twice"),
        ("%", "'%' is"),
    ],
)
def test_what_is_no_format_is_refused(strftime_format: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        text_format(strftime_format)
