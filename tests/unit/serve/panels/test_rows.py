"""Rankings and tables of newest values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serve.panels.seen import ranking_of, table_of, values, view_of

TAGS = [
    {"tag": "a", "posts": 10, "change": 0.25},
    {"tag": "b", "posts": 40, "change": -0.5},
    {"tag": "c", "posts": 20, "change": None},
    {"tag": "d", "posts": 15, "change": 0},
]


def test_the_greatest_come_first_with_their_share_and_change() -> None:
    view = view_of(values(*TAGS), kind="top", name="tag", value="posts", change="change", rows=3)
    rows = ranking_of(view).rows
    assert [(row.name, row.value, row.share) for row in rows] == [("b", "40", 100), ("c", "20", 50), ("d", "15", 37.5)]
    percent = "\N{NO-BREAK SPACE}%"
    assert [(row.change, row.direction) for row in rows] == [
        (f"\N{MINUS SIGN}50{percent}", "down"), ("", ""), (f"0{percent}", "")
    ]  # fmt: skip
    assert view.more == 1


def test_equal_values_are_in_the_order_of_their_names() -> None:
    rows = values(*({"tag": tag, "posts": 1} for tag in "bca"))
    assert [row.name for row in ranking_of(view_of(rows, kind="top", name="tag", value="posts")).rows] == [
        "a",
        "b",
        "c",
    ]


@pytest.mark.parametrize("posts", [[0, 0], [-5, -1], [0, -1]])
def test_what_is_not_positive_has_no_bar(posts: list[int]) -> None:
    rows = values(*({"tag": f"{n}", "posts": count} for n, count in enumerate(posts)))
    found = ranking_of(view_of(rows, kind="top", name="tag", value="posts"))
    assert [row.share for row in found.rows] == [0, 0]
    assert not found.changing


def test_a_row_without_a_value_has_no_rank() -> None:
    rows = values({"tag": "a", "posts": None}, {"tag": "b", "posts": 1})
    assert [row.name for row in ranking_of(view_of(rows, kind="top", name="tag", value="posts")).rows] == ["b"]
    assert view_of(rows[1:], kind="top", name="tag", value="posts").sentence == "posts has no value."


@pytest.mark.parametrize(
    ("order", "tags"),
    [(None, "dcba"), ("posts", "adcb"), ("-posts", "bcda"), ("tag", "abcd"), ("-tag", "dcba"), ("change", "bdac")],
)
def test_a_table_is_in_its_order_and_null_comes_last(order: str | None, tags: str) -> None:
    panel: dict[str, Any] = {"kind": "table", "columns": ["tag", "posts"], "order": order}
    assert "".join(row[0] for row in table_of(view_of(values(*TAGS), **panel)).rows) == tags


def test_a_table_shows_cells_as_json_has_them() -> None:
    cells = {"text": "a", "number": 20130121, "none": None, "yes": True, "list": [1, "ü"], "object": {"a": 1}}
    table = table_of(view_of(values(cells), kind="table", columns=list(cells)))
    assert [list(row) for row in table.rows] == [["a", "20130121", "", "true", '[1, "ü"]', '{"a": 1}']]
    assert table.figures == {1, 2}


def test_a_table_says_how_many_rows_it_does_not_show() -> None:
    view = view_of(values(*TAGS), kind="table", columns=["tag"], rows=3)
    assert (len(table_of(view).rows), view.more) == (3, 1)


def test_numbers_come_before_texts_and_decimals_are_numbers() -> None:
    rows = values(*({"v": cell} for cell in ("b", "10.5", 9, None, "a", -1.0)))
    table = table_of(view_of(rows, kind="table", columns=["v"], order="v"))
    assert [row[0] for row in table.rows] == ["-1.0", "9", "10.5", "a", "b", ""]


def test_a_row_without_the_column_of_the_order_is_left_out_and_counted() -> None:
    view = view_of(values({"a": 1, "b": 2}, {"a": 3}), kind="table", columns=["a"], order="b")
    assert [row[0] for row in table_of(view).rows] == ["1"]
    assert list(view.notes) == ["1 row is left out: there is no column 'b' in a, n."]
