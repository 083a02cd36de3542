"""What is lost, doubled and made up is counted, each by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.matrix.census import CLEAN, Census

RECORDS = st.lists(st.integers(0, 20), unique=True)


def test_each_kind_is_told_from_the_others() -> None:
    assert Census.of("abc", "bca") == CLEAN
    assert Census.of("abc", "ab") == Census(1, 0, 0)
    assert Census.of("abc", "abcc") == Census(0, 1, 0)
    assert Census.of("abc", "abcx") == Census(0, 0, 1)
    assert Census.of("abc", "bbxx") == Census(2, 1, 2), "a phantom makes up for no loss"


def test_what_was_sent_twice_may_be_there_twice_and_no_more() -> None:
    assert Census.of("aab", "aab") == CLEAN
    assert Census.of("aab", "aaab") == Census(0, 1, 0)
    assert Census.of("aab", "ab") == Census(1, 0, 0)


def test_what_nothing_was_heard_of_may_be_there_once_or_not_at_all() -> None:
    assert Census.of("a", "a", unknown="b") == CLEAN
    assert Census.of("a", "ab", unknown="b") == CLEAN
    assert Census.of("a", "abb", unknown="b") == Census(0, 1, 0)


@given(sent=RECORDS, lost=st.data())
def test_any_loss_and_any_repetition_is_counted(sent: list[int], lost: st.DataObject) -> None:
    gone = lost.draw(st.sets(st.sampled_from(sent)) if sent else st.just(set[int]()))
    twice = lost.draw(st.sets(st.sampled_from(sent)) if sent else st.just(set[int]())) - gone
    phantom = lost.draw(st.sets(st.integers(21, 30)))
    found = [*(each for each in sent if each not in gone), *twice, *phantom]
    assert Census.of(sent, found) == Census(len(gone), len(twice), len(phantom))
