"""Lines and layers: in their frame, complete as far as they say, and the same in words and as a table."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.console.charts.chart import SIZE, Chart
from sluice.console.charts.limits import ShadedSpan
from sluice.console.charts.lines import MAX_POINTS, ChartLine, layers, lines
from sluice.console.charts.numbers import exact_text, number_text
from tests.unit.console.charts.frame import assert_in_frame, numbers

FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.lists(st.none() | FINITE, max_size=400)


def line_of(*values: float | None, name: str = "in", unit: str = "") -> Chart | None:
    return lines("Rate", [ChartLine(name, [(60.0 * at, value) for at, value in enumerate(values)])], unit=unit)


def drawn_line(*values: float | None, name: str = "in", unit: str = "") -> Chart:
    chart = line_of(*values, name=name, unit=unit)
    assert chart is not None
    return chart


@given(VALUES)
def test_a_line_stays_in_its_frame_and_its_words_tell_the_highest(values: list[float | None]) -> None:
    chart = line_of(*values, unit="/s")
    known = [value for value in values if value is not None]
    if chart is None:
        assert not known
        return
    assert_in_frame(chart)
    if len(values) <= MAX_POINTS:
        assert f"Highest: {number_text(max(known), '/s')} at" in chart.words


@given(st.lists(st.lists(st.none() | FINITE, min_size=1, max_size=30), min_size=1, max_size=8))
def test_every_value_is_said_where_it_is_pointed_at_and_in_the_table(values: list[list[float | None]]) -> None:
    found = [
        ChartLine(f"<{n}>", [(60.0 * at, value) for at, value in enumerate(each)]) for n, each in enumerate(values)
    ]
    chart = lines("Rate", found)
    if chart is None:
        return
    assert_in_frame(chart)
    said, listed = " ".join(mark.words for mark in chart.marks), {text for row in chart.table.rows for text in row}
    for line in found:
        for _, value in line.points:
            if value is not None:
                assert exact_text(value) in said
                assert exact_text(value) in listed
    assert sum(mark.width for mark in chart.marks) == pytest.approx(100)


@given(st.lists(st.tuples(st.floats(0, 1e300), st.floats(0, 1e300)), min_size=2, max_size=400))
def test_layers_add_up_within_their_frame(values: list[tuple[float, float]]) -> None:
    at = [float(place) for place in range(len(values))]
    found = [ChartLine(name, [(at[n], each[k]) for n, each in enumerate(values)]) for k, name in enumerate("ab")]
    chart = layers("Time", at, found)
    assert chart is not None
    assert_in_frame(chart)
    for shape in chart.shapes:
        for bar in filter(None, shape.path.split(" M")):
            x, low, high, width, _ = numbers(bar)
            assert 0 <= x <= x + width <= SIZE + 0.5
            assert -0.05 <= high <= low <= SIZE + 0.05


def test_a_picture_of_thousands_keeps_the_greatest() -> None:
    points = [(float(at), 100.0 if at == 777 else 1.0) for at in range(5000)]
    chart = lines("Rate", [ChartLine("in", points)])
    assert chart is not None
    (shape,) = chart.shapes
    assert len(chart.marks) <= MAX_POINTS
    assert min(numbers(shape.path)[1::2]) == 0.0
    assert "Highest: 100 at" in chart.words


def test_what_is_unknown_interrupts_a_line() -> None:
    chart = drawn_line(1.0, 2.0, None, 2.0, 3.0)
    assert chart.shapes[0].path.count("M") == 2
    assert len(chart.marks) == 4


def test_a_value_without_a_neighbour_is_a_point() -> None:
    (shape,) = drawn_line(1.0, None, 2.0, 3.0).shapes
    assert re.fullmatch(r"M[\d.]+ [\d.]+h0", shape.points)
    (alone,) = drawn_line(3.0).shapes
    assert (alone.path, bool(alone.points)) == ("", True)


def test_equal_values_are_a_level_line_above_zero() -> None:
    (shape,) = drawn_line(5.0, 5.0, 5.0).shapes
    assert len(set(numbers(shape.path)[1::2])) == 1
    assert 0 < numbers(shape.path)[1] < SIZE


@pytest.mark.parametrize("values", [(), (None,), (None, None)])
def test_without_a_value_there_is_no_chart(values: tuple[None, ...]) -> None:
    assert line_of(*values) is None
    assert layers("Rate", [0.0] * min(len(values), 1), [ChartLine("in", [(0.0, None)])]) is None


def test_a_single_line_without_a_name_needs_no_legend() -> None:
    assert drawn_line(1.0, 2.0, name="").legend == ()
    assert [shape.name for shape in drawn_line(1.0, 2.0).legend] == ["in"]


def test_the_words_name_each_line_with_its_newest_value_and_unit() -> None:
    words = drawn_line(1.0, 2000.0, name="JFK", unit="min").words
    assert "JFK" in words
    assert "2,000\N{NO-BREAK SPACE}min" in words


def test_spans_of_time_are_shaded_behind_the_lines_within_the_frame() -> None:
    points = [(100.0 * n, float(n)) for n in range(11)]
    spans = [
        ShadedSpan(-500.0, 200.0, "before"),
        ShadedSpan(500.0, 500.0, "moment"),
        ShadedSpan(900.0, 5000.0, "after"),
        ShadedSpan(0.0, 1000.0, "calm", is_calm=True),
    ]
    chart = lines("a title", [ChartLine("a", points)], spans=spans)
    assert chart is not None
    paths = [shape.path for shape in chart.shapes if shape.look.startswith("span")]
    assert [re.findall(r"M([\d.]+) 0H([\d.]+)", path) for path in paths] == [
        [("0.0", "200.0")],
        [("500.0", "504.0")],
        [("900.0", "1000.0")],
        [("0.0", "1000.0")],
    ]
    assert chart.shapes[-1].look == "line"
    assert [(label.text, label.before) for label in chart.labels] == [
        ("before", False),
        ("moment", False),
        ("after", True),
    ]
    assert len({label.y for label in chart.labels}) == 3
    assert "Shaded: \u2068before\u2069 from 1969-12-31 23:51:40 to 1970-01-01 00:03:20 UTC, " in chart.words


def test_a_chart_without_spans_says_nothing_of_them() -> None:
    assert "Shaded" not in drawn_line(1, 2).words
    assert drawn_line(1, 2).labels == []
