"""A function over the records of one key: what it is given, and what it may return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from sluice.spark.keyed.calls import Calls, Function

ROWS = StructType([StructField("n", LongType()), StructField("before", LongType())])
CARRIED = StructType([StructField("card", StringType()), StructField("last", LongType()), StructField("x", LongType())])


def calls(function: Function) -> Calls:
    return Calls(function, ("card",), ("at", "n"), ROWS, CARRIED)


def one_after_another(records: Iterator[Mapping[str, Any]], state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for record in records:
        yield {"n": record["n"], "before": state.get("last")}
        state["last"] = record["n"]


def record(at: int | None, n: int) -> dict[str, object]:
    return {"card": "a", "at": at, "n": n}


def test_records_come_in_order_and_what_is_left_has_all_columns() -> None:
    rows, left = calls(one_after_another).call([record(2, 1), record(1, 3), record(1, 2), record(None, 9)], None)
    assert [row["n"] for row in rows] == [9, 2, 3, 1]
    assert [row["before"] for row in rows] == [None, 9, 2, 3]
    assert left == {"last": 1, "x": None}


def test_what_was_left_is_given_without_what_is_empty() -> None:
    given = list[dict[str, Any]]()

    def seen(_records: Iterator[Mapping[str, Any]], state: dict[str, Any]) -> Iterator[dict[str, Any]]:
        given.append(dict(state))
        yield {"n": 1}

    rows, left = calls(seen).call([record(1, 1)], {"last": 7, "x": None})
    assert given == [{"last": 7}]
    assert rows == [{"n": 1, "before": None}]
    assert left == {"last": 7, "x": None}


def test_a_state_that_is_empty_at_the_end_is_forgotten() -> None:
    def forgets(_records: Iterator[Mapping[str, Any]], state: dict[str, Any]) -> Iterator[dict[str, Any]]:
        state.clear()
        yield from ()

    assert calls(forgets).call([record(1, 1)], {"last": 7}) == ([], None)


@pytest.mark.parametrize(
    ("row", "state", "message"),
    [
        ({"m": 1}, {}, "the row has 'm', and only n, before are declared"),
        ({"n": 1}, {"card": "b"}, "the state has 'card', and only last, x are declared"),
    ],
)
def test_a_column_that_nothing_declares_is_refused_by_name(
    row: dict[str, Any], state: dict[str, Any], message: str
) -> None:
    def wrong(_records: Iterator[Mapping[str, Any]], kept: dict[str, Any]) -> Iterator[dict[str, Any]]:
        kept.update(state)
        yield row

    with pytest.raises(ValueError, match=message):
        calls(wrong).call([record(1, 1)], None)
