from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.reach import Reach

OFFSETS = st.dictionaries(st.sampled_from(["t/0", "t/1"]), st.integers(0, 3))
TOPICS = ("first", "second", "third")
REACHES = st.builds(lambda offsets, known: Reach(offsets, TOPICS[:known]), OFFSETS, st.integers(1, 3))


@pytest.mark.parametrize(
    ("one", "other", "covered"),
    [
        pytest.param(Reach({"t/0": 5}), Reach({"t/0": 5}), True, id="as far"),
        pytest.param(Reach({"t/0": 4}), Reach({"t/0": 5}), False, id="one record less"),
        pytest.param(Reach({"t/0": 5}), Reach({"t/0": 5, "t/1": 1}), False, id="a partition less"),
        pytest.param(Reach({"t/0": 9}, ("a",)), Reach({"t/0": 5}, ("a", "b")), False, id="of the topic before"),
        pytest.param(Reach({"t/0": 9}, ("b",)), Reach({"t/0": 5}, ("a",)), False, id="of one that it does not know"),
        pytest.param(Reach({"t/0": 1}, ("a", "b")), Reach({"t/0": 5}, ("a",)), True, id="of the topic after"),
        pytest.param(Reach({"t/0": 9}, ("b",)), Reach({"t/0": 5}, ("a", "b")), True, id="of the same, by less"),
        pytest.param(Reach({"t/0": 9}), Reach({"t/0": 5}, ("a",)), True, id="of an unknown topic"),
    ],
)
def test_a_reach_covers_what_lies_below_it(one: Reach, other: Reach, *, covered: bool) -> None:
    assert one.covers(other) is covered


def test_only_what_is_known_to_be_older_precedes() -> None:
    found = Reach({"t/0": 1}, ("b",))
    assert found.preceded_by(["a", "b", "c"]) == Reach({"t/0": 1}, ("a", "b"))
    assert found.preceded_by(["a"]) == found, "a reset that has read nothing yet"
    assert Reach({"t/0": 1}).preceded_by(["a"]) == Reach({"t/0": 1})


@given(REACHES, REACHES, REACHES)
def test_covering_is_an_order(one: Reach, other: Reach, third: Reach) -> None:
    assert one.covers(one)
    if one.covers(other) and other.covers(third):
        assert one.covers(third)
    if one.topics != other.topics:
        assert one.covers(other) != other.covers(one)
