"""Newest rows: the twin of the stores, and which of a batch's rows is a key's newest."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError
from sluice.live.store import newest
from tests.suites.latest_suite import LatestSuite, Place
from tests.twins.latest import InMemoryLatest, SharedRows


class TestInMemoryLatest(LatestSuite):
    @pytest.fixture
    def place(self) -> Place:
        shared = SharedRows()
        return Place(
            lambda table, generation, writer: InMemoryLatest(shared, table, writer, generation),
            lambda: list(shared.rows.values()),
        )


def table(*rows: tuple[str | None, int | None, int]) -> pa.Table:
    key, age, value = zip(*rows, strict=True) if rows else ((), (), ())
    schema = pa.schema([("key", pa.string()), ("age", pa.int64()), ("value", pa.int64())])
    return pa.table([list(key), list(age), list(value)], schema=schema)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 5)), st.integers(0, 9))))
def test_of_each_key_one_row_is_left_and_none_is_newer(given_rows: list[tuple[str, int | None, int]]) -> None:
    kept = newest(table(*given_rows), ("key",), "age").to_pylist()
    assert sorted(row["key"] for row in kept) == sorted({key for key, _, _ in given_rows})
    for row in kept:
        assert (row["key"], row["age"], row["value"]) in given_rows
        ages = [age for key, age, _ in given_rows if key == row["key"]]
        assert row["age"] == max((age for age in ages if age is not None), default=None)


def test_rows_of_different_keys_stay_as_they_are_without_a_word_of_age() -> None:
    rows = table(("b", None, 1), ("a", 7, 2))
    assert newest(rows, ("key",), None) == rows
    assert newest(table(), ("key",), None).num_rows == 0


def test_two_rows_of_a_key_are_refused_when_nothing_says_which_is_newer() -> None:
    with pytest.raises(RefusedError, match="2 rows for 1 keys"):
        newest(table(("a", 1, 1), ("a", 1, 2)), ("key",), None)


def test_a_row_without_its_key_is_refused() -> None:
    with pytest.raises(RefusedError, match="1 rows have no 'key'"):
        newest(table((None, 1, 1), ("a", 1, 2)), ("key",), "age")
