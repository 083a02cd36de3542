"""Readers of raw tables keep few of their looks, and every one that shows a fault."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sluice.proof.observations import ReaderLook
from sluice.proof.running.readers import RawReaders


def kept(*looks: tuple[str, int], keep_every: float = 1_000) -> list[tuple[float, int]]:
    """Return the time of each look that is kept of these, one per second, and how many records were there twice."""
    given = iter([ReaderLook("raw", float(at), frozenset(ids), twice) for at, (ids, twice) in enumerate(looks)])
    reader: Any = SimpleNamespace(look=lambda: next(given))
    readers = RawReaders({"t": reader}, keep_every)
    for _ in looks:
        readers.look()
    return [(look.at, look.twice) for look in readers.looks]


def test_a_look_is_kept_in_so_many_seconds() -> None:
    assert kept(*[("a", 0)] * 9, keep_every=4) == [(0, 0), (4, 0), (8, 0)]


def test_one_that_shows_records_twice_is_kept() -> None:
    assert kept(("a", 0), ("a", 1), ("a", 0), ("a", 2)) == [(0, 0), (1, 1), (3, 2)]


def test_one_that_lacks_a_record_is_kept_with_the_one_before() -> None:
    assert kept(("", 0), ("a", 0), ("ab", 0), ("a", 0), ("ab", 0)) == [(0, 0), (2, 0), (3, 0)]
    assert kept(("ab", 0), ("", 0), ("ab", 0), ("a", 0)) == [(0, 0), (1, 0), (2, 0), (3, 0)]
