"""Lines, bars and places of newest values: which are drawn, of which rows, and within which bounds."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.live.values import MAX_VALUES
from tests.unit.console.charts.frame import assert_in_frame
from tests.unit.serve.panels.seen import AT, chart_of, values, view_of

CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("2013-01-21T12:00:00Z")


def minute(number: int) -> str:
    return f"{AT + timedelta(minutes=number):%Y-%m-%dT%H:%M:%SZ}"


def posts(*counts: int, lang: str = "en") -> list[dict[str, Any]]:
    return [{"minute": minute(number), "lang": lang, "posts": count} for number, count in enumerate(counts)]


def test_a_line_for_each_column_or_for_each_value_of_one() -> None:
    rows = values(*({**row, "likes": 1} for row in (*posts(1, 2), *posts(3, 4, lang="de"))))
    several = chart_of(view_of(rows, kind="line", x="minute", y=["posts", "likes"]))
    assert [shape.name for shape in several.legend] == ["posts", "likes"]
    split = chart_of(view_of(rows, kind="line", x="minute", y=["posts"], by="lang"))
    assert [(shape.name, shape.newest) for shape in split.legend] == [("de", "4"), ("en", "2")]
    single = chart_of(view_of(rows, kind="line", x="minute", y=["posts"], aggregate="max", unit="posts"))
    assert [shape.newest for shape in single.shapes] == ["4\N{NO-BREAK SPACE}posts"]
    assert single.legend == ()


def test_rows_of_one_time_are_added_up_or_counted() -> None:
    rows = values(*posts(1, 2), *posts(3, 4, lang="de"))
    added = chart_of(view_of(rows, kind="line", x="minute", y=["posts"]))
    assert [row[1] for row in added.table.rows] == ["6", "4"]
    counted = chart_of(view_of(rows, kind="line", x="minute", aggregate="count"))
    assert [row[1] for row in counted.table.rows] == ["2", "2"]


def test_rows_may_come_in_any_order() -> None:
    chart = chart_of(view_of(values(*reversed(posts(1, 2, 3))), kind="line", x="minute", y=["posts"]))
    assert [row[1] for row in chart.table.rows] == ["3", "2", "1"]
    assert chart.table.rows[0][0] == "2013-01-21 12:02"


def test_only_the_newest_times_are_drawn() -> None:
    chart = chart_of(view_of(values(*posts(*range(700))), kind="line", x="minute", y=["posts"], newest=600))
    assert len(chart.marks) == 600
    assert chart.table.rows[-1][1] == "100"


def test_of_many_lines_the_greatest_are_drawn_and_the_others_counted() -> None:
    rows = values(*(row for n in range(12) for row in posts(n, n, lang=f"l{n:02}")))
    chart = chart_of(view_of(rows, kind="line", x="minute", y=["posts"], by="lang"))
    assert [shape.name for shape in chart.shapes] == [f"l{n:02}" for n in range(4, 12)]
    assert chart.more == 4


def test_what_is_null_interrupts_a_line() -> None:
    rows = values(*posts(1, 2), {"minute": minute(2), "lang": "en", "posts": None}, *posts(0, 0, 0, 4, 5)[3:])
    chart = chart_of(view_of(rows, kind="line", x="minute", y=["posts"]))
    assert chart.shapes[0].path.count("M") == 2


@pytest.mark.parametrize("at", ["2013-01-21", "2013-01-21T12:00:00", "2013-01-21T13:00:00+01:00", "2013-01-21T12:00Z"])
def test_times_are_text_with_or_without_a_zone(at: str) -> None:
    chart = chart_of(view_of(values({"at": at, "posts": 1}), kind="line", x="at", y=["posts"]))
    assert chart.table.rows[0][0] in ("2013-01-21 12:00", "2013-01-21 00:00")


@pytest.mark.parametrize("cell", ["soon", 5, None, True, "99999-01-01"])
def test_what_is_no_time_is_said(cell: object) -> None:
    view = view_of(values({"at": cell, "posts": 1}), kind="line", x="at", y=["posts"])
    assert "which is no time such as 2026-01-31T12:00:00Z" in view.sentence


def test_bars_combine_the_rows_of_a_category_and_show_the_greatest() -> None:
    rows = values(*({"shop": f"s{n % 5}", "total": n} for n in range(10)))
    view = view_of(rows, kind="bars", x="shop", y="total", rows=2)
    chart = chart_of(view)
    assert [row for row in chart.table.rows] == [["s4", "13"], ["s3", "11"]]  # noqa: C416 - as lists
    assert chart.more == 3
    counted = chart_of(view_of(rows, kind="bars", x="shop", aggregate="count", order="category"))
    assert [row[0] for row in counted.table.rows] == ["s0", "s1", "s2", "s3", "s4"]


def test_categories_that_are_numbers_stand_in_their_order() -> None:
    rows = values(*({"hour": n, "total": n * n} for n in (10, 9, 2)))
    chart = chart_of(view_of(rows, kind="bars", x="hour", y="total", order="category"))
    assert [row[0] for row in chart.table.rows] == ["2", "9", "10"]


def test_places_are_those_that_changed_last_and_have_a_position() -> None:
    rows = values(
        *({"lon": n, "lat": 50, "truck": f"t{n}"} for n in range(5)),
        {"lon": None, "lat": 50, "truck": "nowhere"},
        {"lon": 200, "lat": 50, "truck": "beyond"},
    )
    view = view_of(rows, kind="positions", lon="lon", lat="lat", label="truck", rows=3)
    chart = chart_of(view)
    assert [row[0] for row in chart.table.rows] == ["t4", "t3", "t2"]
    assert chart.more == 2
    assert list(view.notes) == ["1 row is left out: lon is 200, which is beyond 180 degrees."]


def test_a_place_without_a_name_is_called_by_its_key() -> None:
    chart = chart_of(view_of(values({"lon": 1.5, "lat": 2}), kind="positions", lon="lon", lat="lat"))
    assert chart.table.rows[0][0] == "0"


@given(st.lists(st.fixed_dictionaries(dict.fromkeys("abc", CELLS)), max_size=30))
def test_whatever_the_cells_are_there_is_a_chart_in_its_frame_or_a_sentence(rows: list[dict[str, Any]]) -> None:
    for panel in (
        {"kind": "line", "x": "a", "y": ["b"], "by": "c"},
        {"kind": "line", "x": "a", "y": ["b", "c"], "aggregate": "mean"},
        {"kind": "bars", "x": "a", "y": "b", "order": "category"},
        {"kind": "positions", "lon": "a", "lat": "b", "state": "c"},
    ):
        view = view_of(values(*rows), **panel)
        if view.content is None:
            assert view.sentence.endswith(".")
        else:
            assert_in_frame(chart_of(view))


def test_an_output_full_of_values_takes_seconds_at_most() -> None:
    rows = values(
        *(
            {"minute": minute(n % 5000), "lang": f"l{n % 100}", "posts": n, "lon": n % 180, "lat": n % 90}
            for n in range(MAX_VALUES)
        )
    )
    for panel in (
        {"kind": "number", "value": "posts", "aggregate": "sum", "where": {"lang": "l1"}},
        {"kind": "line", "x": "minute", "y": ["posts"], "by": "lang", "newest": 600},
        {"kind": "bars", "x": "lang", "y": "posts"},
        {"kind": "top", "name": "lang", "value": "posts"},
        {"kind": "table", "columns": ["lang", "posts"], "order": "-posts"},
        {"kind": "positions", "lon": "lon", "lat": "lat"},
    ):
        begun = time.process_time()
        assert view_of(rows, **panel).content is not None
        assert time.process_time() - begun < 10, panel
