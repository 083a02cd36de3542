"""A number of the newest row or of all, and the sentences where there is none."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.unit.serve.panels.seen import number_of, values, view_of

ROWS = [{"shop": "a", "total": 3}, {"shop": "b", "total": 5.5}, {"shop": "a", "total": 1}]


@pytest.mark.parametrize(
    ("aggregate", "text", "about"),
    [
        ("sum", "9.5", "the sum of 3 rows"),
        ("min", "1", "the least of 3 rows"),
        ("max", "5.5", "the greatest of 3 rows"),
        ("mean", "3.17", "the mean of 3 rows"),
        ("newest", "1", "of 2"),
    ],
)
def test_one_number_is_made_of_all_rows(aggregate: str, text: str, about: str) -> None:
    found = number_of(view_of(values(*ROWS), kind="number", value="total", aggregate=aggregate))
    assert (found.text, found.about) == (text, about)


def test_rows_are_counted_without_a_column() -> None:
    assert number_of(view_of(values(*ROWS), kind="number", aggregate="count")).text == "3"
    assert number_of(view_of(values(), kind="number", aggregate="count")).text == "0"
    where = {"shop": "nowhere"}
    assert number_of(view_of(values(*ROWS), kind="number", aggregate="count", where=where)).text == "0"


def test_a_column_may_say_which_row_is_the_newest() -> None:
    rows = values({"at": "2013-01-21T12:02:00Z", "total": 7}, {"at": "2013-01-21T12:01:00Z", "total": 6})
    assert number_of(view_of(rows, kind="number", value="total")).text == "6"
    assert number_of(view_of(rows, kind="number", value="total", newest_by="at")).text == "7"


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({"shop": "a"}, "4"),
        ({"shop": ["a", "b"]}, "9.5"),
        ({"shop": {"one_of": ["b"]}}, "5.5"),
        ({"total": {"above": 1, "below": 5}}, "3"),
        ({"shop": "a", "total": {"at_least": 2}}, "3"),
    ],
)
def test_only_some_of_the_rows_count(where: dict[str, Any], text: str) -> None:
    assert number_of(view_of(values(*ROWS), kind="number", value="total", aggregate="sum", where=where)).text == text


def test_decimals_are_numbers_though_they_are_text() -> None:
    rows = values({"total": Decimal("10.25")}, {"total": Decimal("-0.25")})
    assert number_of(view_of(rows, kind="number", value="total", aggregate="sum")).text == "10"


def test_rows_without_a_value_are_in_no_mean() -> None:
    rows = values({"total": 4}, {"total": None}, {"total": 8})
    assert number_of(view_of(rows, kind="number", value="total", aggregate="mean")).text == "6"


def test_the_exact_number_has_its_unit() -> None:
    found = number_of(view_of(values({"total": 1_234_567}), kind="number", value="total", unit="posts"))
    assert (found.text, found.exact) == ("1.23\N{NO-BREAK SPACE}M", "1,234,567\N{NO-BREAK SPACE}posts")


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("many", 'No row can be shown: total is "many", which is no number.'),
        (True, "No row can be shown: total is true, which is no number."),
        ([1], "No row can be shown: total is [1], which is no number."),
        (10**400, "which is too large a number."),
        (None, "total has no value."),
        (float("nan"), "total has no value."),
        (float("inf"), "total has no value."),
    ],
)
@pytest.mark.parametrize("aggregate", ["newest", "sum"])
def test_what_is_no_number_is_said(cell: object, sentence: str, aggregate: str) -> None:
    view = view_of(values({"total": cell}), kind="number", value="total", aggregate=aggregate)
    assert view.content is None
    assert sentence in view.sentence


def test_a_missing_column_is_said_with_those_that_there_are() -> None:
    view = view_of(values({"total": 1}), kind="number", value="totals")
    assert view.sentence == "No row can be shown: there is no column 'totals' in n, total."
    filtered = view_of(values({"total": 1}), kind="number", value="total", where={"shop": "a"})
    assert filtered.sentence == "No row can be shown: there is no column 'shop' in n, total."


def test_rows_that_cannot_be_shown_are_counted_beside_the_others() -> None:
    rows = values({"total": 1}, {"total": "y"}, {"total": "x"}, {"total": 2})
    view = view_of(rows, kind="number", value="total", aggregate="sum")
    assert number_of(view).text == "3"
    assert list(view.notes) == ['2 rows are left out: total is "x", which is no number.'], "the first is named"


def test_without_rows_a_panel_says_whether_there_are_none_or_none_fits() -> None:
    assert view_of(values(), kind="number", value="total").sentence == "No values now."
    view = view_of(values(*ROWS), kind="number", value="total", where={"shop": "x", "total": {"above": 3}})
    assert view.sentence == "None of 3 rows fits: shop is one of x and total is above 3."


def test_a_sum_beyond_all_numbers_is_no_number() -> None:
    rows = values(*({"total": 9e299} for _ in range(3)))
    assert number_of(view_of(rows, kind="number", value="total", aggregate="sum")).text == "2.7e300"
