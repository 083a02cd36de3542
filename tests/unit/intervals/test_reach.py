from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.reach import UNREACHABLE, Reach

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


FLIGHTS, WEATHER = "flights", "weather"


def of_topic(name: str, *, least: int = 1) -> st.SearchStrategy[Reach]:
    """Return reaches of one topic and those before it; if `least` is 0, also of one of which nothing was read."""
    offsets = st.dictionaries(st.sampled_from([f"{name}/0", f"{name}/1"]), st.integers(0, 3))
    known = st.builds(
        lambda offsets, lives: Reach(offsets, tuple(f"{name}-{life}" for life in range(lives))),
        offsets,
        st.integers(1, 3),
    )
    return known if least else known | st.just(Reach({}))


EACH = st.fixed_dictionaries({name: of_topic(name, least=0) for name in (FLIGHTS, WEATHER)})
EACH_KNOWN = st.fixed_dictionaries({name: of_topic(name) for name in (FLIGHTS, WEATHER)})


@given(EACH)
def test_several_topics_are_joined_and_taken_apart(each: dict[str, Reach]) -> None:
    joined = Reach.joined(each)
    assert {name: joined.of(name) for name in each} == each
    assert joined.of("elsewhere") == Reach({})


@given(of_topic(FLIGHTS, least=0))
def test_a_single_topic_is_written_as_it_always_was(own: Reach) -> None:
    assert Reach.joined({FLIGHTS: own}) == own
    assert own.at({"flights/0": 9}) == Reach({"flights/0": 9}, own.topics)
    if own.offsets:
        assert own.of(FLIGHTS) == own
        assert own.of(WEATHER) == Reach({})


@given(EACH_KNOWN, EACH_KNOWN)
def test_one_covers_another_where_it_covers_it_topic_by_topic(one: dict[str, Reach], other: dict[str, Reach]) -> None:
    covered = {name: one[name].covers(other[name]) for name in one}
    assert Reach.joined(one).covers(Reach.joined(other)) is all(covered.values())
    for name, only in covered.items():
        assert Reach.joined(one).covers(Reach.joined({**one, name: other[name]})) is only, "nothing of the other topic"


@given(EACH, EACH, EACH)
def test_covering_several_is_an_order(one: dict[str, Reach], other: dict[str, Reach], third: dict[str, Reach]) -> None:
    first, second, last = Reach.joined(one), Reach.joined(other), Reach.joined(third)
    assert first.covers(first)
    if first.covers(second) and second.covers(last):
        assert first.covers(last)


@given(EACH, EACH)
def test_in_which_order_topics_are_named_says_nothing(one: dict[str, Reach], other: dict[str, Reach]) -> None:
    backwards = Reach.joined(dict(reversed(one.items())))
    joined, against = Reach.joined(one), Reach.joined(other)
    assert joined.covers(backwards)
    assert backwards.covers(joined)
    assert backwards.covers(against) is joined.covers(against)
    assert against.covers(backwards) is against.covers(joined)


@given(EACH_KNOWN, st.sets(st.sampled_from([FLIGHTS, WEATHER]), min_size=1))
def test_other_offsets_lie_in_the_same_topics(each: dict[str, Reach], named: set[str]) -> None:
    offsets = {f"{name}/0": 2 for name in sorted(named)}
    moved = Reach.joined(each).at(offsets)
    for name, own in each.items():
        assert moved.of(name) == (Reach({f"{name}/0": 2}, own.topics) if name in named else Reach({}))


def test_of_two_topics_only_the_one_that_was_created_again_begins_anew() -> None:
    before = Reach.joined({FLIGHTS: Reach({"flights/0": 9}, ("a",)), WEATHER: Reach({"weather/0": 5}, ("v",))})
    after = Reach.joined({FLIGHTS: Reach({"flights/0": 9}, ("a",)), WEATHER: Reach({"weather/0": 1}, ("v", "w"))})
    assert after.covers(before), "all of the one that was deleted"
    assert not before.covers(after)
    assert after.covers(before.at({"weather/0": 99}))
    assert not after.covers(before.at({"flights/0": 10}))
    assert after.topics == ("flights/a", "weather/v", "weather/w")


def test_of_a_topic_of_which_nothing_was_read_a_reader_lacks_the_first_record_and_all_before_it() -> None:
    nothing = Reach.joined({FLIGHTS: Reach({"flights/0": 9}, ("a",)), WEATHER: Reach({})})
    assert nothing.covers(nothing.at({"flights/0": 9}))
    assert nothing.covers(Reach.joined({FLIGHTS: Reach({}, ("a",)), WEATHER: Reach({"weather/0": 0}, ("w",))}))
    marked = Reach.joined({FLIGHTS: Reach({"flights/0": 9}, ("a",)), WEATHER: Reach({"weather/0": 1}, ("v", "w"))})
    assert not nothing.covers(marked.at({"weather/0": 1}))
    assert not nothing.covers(marked.at({"weather/0": 0})), "the records of the topic that was deleted"


def test_what_was_written_before_a_topic_was_added_covers_nothing_of_it() -> None:
    alone = Reach({"flights/0": 9}, ("a",))
    both = Reach.joined({FLIGHTS: alone, WEATHER: Reach({"weather/0": 1}, ("w",))})
    assert both.covers(alone)
    assert not alone.covers(both)
    assert alone.covers(both.at({"flights/0": 9}))
    assert not alone.covers(both.at({"weather/0": 1}))


def test_no_reader_of_several_topics_covers_what_is_gone() -> None:
    both = Reach.joined({FLIGHTS: Reach({"flights/0": 9}, ("a",)), WEATHER: Reach({"weather/0": 1}, ("w",))})
    assert not both.covers(UNREACHABLE)
