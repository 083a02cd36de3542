"""Where a stream goes on, against an oracle that tries every position, and a comparison record by record."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.mirrors.translation import Comparison, CopiedRecord, compare, copied_record, reaches_back, translate
from sluice.topics.records import Record

HEADER = "sluice-mirror-standby"
NOON = datetime(2013, 1, 7, 12, tzinfo=UTC)


def tail(*origins: int | None, first: int = 100) -> list[CopiedRecord]:
    return [CopiedRecord(first + number, origin) for number, origin in enumerate(origins)]


def cost(copies: Sequence[CopiedRecord], position: int, at: int) -> tuple[int, int]:
    """Return how many records would be left out, and how many double, if a stream went on at an offset."""
    read = [copy.origin for copy in copies if copy.offset >= at]
    wanted = {copy.origin for copy in copies if copy.origin is not None and copy.origin >= position}
    own = sum(copy.origin is None for copy in copies) - sum(origin is None for origin in read)
    known = [origin for origin in read if origin is not None]
    new = {origin for origin in known if origin >= position}
    return len(wanted - new) + own, len(known) - len(new)


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 8)), max_size=14),
    st.integers(0, 10),
    st.integers(0, 3),
)
def test_nothing_copied_is_left_out_and_no_other_position_has_fewer_doubles(
    origins: list[int | None], position: int, marks: int
) -> None:
    copies = tail(*origins)
    end = 100 + len(copies) + marks
    found = translate(copies, position, end=end)
    best = min(cost(copies, position, at) for at in [*(copy.offset for copy in copies), end])
    assert cost(copies, position, found.at) == best == (0, len(found.doubles))
    assert found.waiting == sum(copy.offset >= found.at for copy in copies)


@given(st.integers(0, 40), st.lists(st.integers(1, 3), min_size=1, max_size=40), st.integers(0, 39))
def test_a_tail_that_reaches_back_says_what_the_whole_copy_says(position: int, gaps: list[int], cut: int) -> None:
    origins = [sum(gaps[: number + 1]) for number in range(len(gaps))]  # copied once, in order, with gaps
    copies = tail(*origins)
    part, end = copies[min(cut, len(copies)) :], 100 + len(copies)
    if reaches_back(part, position):
        assert translate(part, position, end=end) == translate(copies, position, end=end)


@pytest.mark.parametrize(
    ("origins", "position", "at", "doubles"),
    [
        ((5, 6, 7, 8), 7, 102, ()),
        ((5, 6, 9), 7, 102, ()),  # 7 and 8 are marks of transactions in the source
        ((5, 6), 9, 102, ()),  # the stream is ahead of the mirror
        ((5, 6, 7, 5, 6, 7), 6, 104, ()),  # copied again as a whole: the second copies are enough
        ((5, 6, 7, 8, 5, 6), 6, 102, (104,)),  # and again in part: none is left out, one is double
        ((5, 6, 7, None, None), 8, 103, ()),  # sent to the target itself: news to the stream
        ((), 3, 100, ()),
    ],
)
def test_histories_of_a_copy(origins: tuple[int | None, ...], position: int, at: int, doubles: tuple[int, ...]) -> None:
    found = translate(tail(*origins), position, end=100 + len(origins))
    assert found.at == at
    assert tuple(copy.offset for copy in found.doubles) == doubles


def test_what_is_lost_is_neither_copied_nor_read() -> None:
    copies = tail(5, 6, 7)
    assert translate(copies, 4, end=103, source_end=12).lost == (8, 12)
    assert translate(copies, 10, end=103, source_end=12).lost == (10, 12)
    assert translate(copies, 10, end=103, source_end=10).lost == (10, 10)
    assert translate(copies, 10, end=103).lost is None, "nobody knows where the source ended"


@pytest.mark.parametrize("origins", [(7, 8), (5, 7, 6), (5, 5), (None, 5), ()])
def test_a_tail_that_says_nothing_of_what_lies_before_it_does_not_reach_back(origins: tuple[int | None, ...]) -> None:
    assert not reaches_back(tail(*origins), 7)
    assert reaches_back(tail(5, *(o for o in (6, 8))), 7)


def record(offset: int, origin: bytes | None = None, value: bytes = b"v", **further: object) -> Record:
    headers = (("trace", b"x"), *([] if origin is None else [(HEADER, origin)]))
    at = further.get("at", NOON)
    assert isinstance(at, datetime)
    return Record(0, offset, at, appended=False, key=b"k", value=value, headers=headers)


@pytest.mark.parametrize("said", [b"", b"seven", b"-1", b"1.5", "٣".encode(), b"\xff"])
def test_a_header_that_is_no_offset_makes_no_copy(said: bytes) -> None:
    assert copied_record(record(3, said), HEADER) == CopiedRecord(3, None)
    assert copied_record(record(3, b"12"), HEADER) == CopiedRecord(3, 12)
    assert copied_record(record(3, b"12"), "sluice-mirror-other") == CopiedRecord(3, None)


def test_records_are_compared_one_by_one() -> None:
    source = [record(n) for n in range(5, 10)]
    copies = [record(20 + n, str(n).encode()) for n in range(5, 10)]
    assert compare(source, [record(19), record(20, b"4"), *copies], HEADER) == Comparison(5)
    assert compare(source, copies[1:], HEADER).missing == (5,)
    assert compare(source, [*copies, record(40, b"6")], HEADER).twice == (40,)
    for other in (record(26, b"6", b"w"), record(26, b"6", at=NOON.replace(hour=13))):
        assert compare(source, [copies[0], other, *copies[2:]], HEADER).differing == (6,)
    assert not compare(source, copies[1:], HEADER).alike
    assert compare(source, copies, HEADER).alike
