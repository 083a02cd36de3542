from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.life.identity import submission_key

names = st.from_regex(r"[a-z][a-z0-9_]{0,62}", fullmatch=True)
generations = st.integers(1, 10**9)


def test_a_key_reads_as_deployment_unit_and_generation() -> None:
    assert submission_key("local", "flights", 3) == "local.flights.g3"


@given(names, names, generations)
def test_a_key_is_safe_as_a_file_name(deployment: str, unit: str, generation: int) -> None:
    key = submission_key(deployment, unit, generation)
    assert re.fullmatch(r"[a-z0-9_.]+", key)


attempts = st.tuples(names, names, generations)


@given(attempts, attempts)
def test_different_attempts_never_share_a_key(one: tuple[str, str, int], other: tuple[str, str, int]) -> None:
    assert (submission_key(*one) == submission_key(*other)) == (one == other)


@pytest.mark.parametrize(
    ("deployment", "unit", "generation"),
    [("local", "a.b", 1), ("../x", "flights", 1), ("local", "flights", 0), ("local", "", 1), ("Local", "flights", 1)],
)
def test_what_would_make_an_ambiguous_key_is_refused(deployment: str, unit: str, generation: int) -> None:
    with pytest.raises(ValueError, match="no submission key"):
        submission_key(deployment, unit, generation)
