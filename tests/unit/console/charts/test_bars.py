"""Bars by category, and places on a grid of degrees."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.console.charts.bars import bars
from sluice.console.charts.chart import PLACES
from sluice.console.charts.positions import GeoPosition, degrees_text, positions
from tests.unit.console.charts.frame import assert_in_frame, numbers

FINITE = st.floats(allow_nan=False, allow_infinity=False)
LON, LAT = st.floats(-180, 180), st.floats(-90, 90)


@given(st.lists(st.tuples(st.text(max_size=300), FINITE), min_size=1, max_size=40))
def test_bars_stay_in_their_frame_whatever_they_are_called(found: list[tuple[str, float]]) -> None:
    chart = bars("By name", found, unit="m")
    assert chart is not None
    assert_in_frame(chart)
    assert len(chart.marks) == len(found)


def test_a_bar_goes_from_zero_to_its_value() -> None:
    chart = bars("By name", [("a", 10.0), ("b", -10.0), ("c", 0.0)])
    assert chart is not None
    ups = [numbers(path) for path in chart.shapes[0].path.split("M")[1:]]
    lefts, rights = [each[0] for each in ups], [each[2] for each in ups]
    assert (lefts[0], rights[1]) == (500, 500), "zero is in the middle"
    assert (lefts[1], rights[0]) == (0, 1000)
    assert lefts[2] == rights[2] == 500


def test_long_names_are_cut_beside_the_bars_and_whole_in_words() -> None:
    chart = bars("By name", [("a" * 40, 1.0)])
    assert chart is not None
    assert len(chart.y_ticks[0].text) <= 13
    assert "a" * 40 in chart.marks[0].words


def test_of_nothing_there_is_no_chart() -> None:
    assert bars("By name", []) is None
    assert positions("Trucks", []) is None


@given(st.lists(st.builds(GeoPosition, LON, LAT, st.text(max_size=30), st.text(max_size=3)), min_size=1, max_size=80))
@example([GeoPosition(180, 90, "a"), GeoPosition(-180, -90, "b")])
@example([GeoPosition(0, 0, "a"), GeoPosition(0, 0, "b")])
@example([GeoPosition(10, 90, "a"), GeoPosition(-10, 90, "b")])
def test_places_stay_in_their_frame(found: list[GeoPosition]) -> None:
    chart = positions("Trucks", found)
    assert chart is not None
    assert_in_frame(chart)
    assert chart.x_ticks
    assert chart.y_ticks
    assert {dot.place for mark in chart.marks for dot in mark.dots} <= set(range(PLACES))


def test_north_is_up_and_east_is_right() -> None:
    chart = positions("Trucks", [GeoPosition(10, 50, "south west"), GeoPosition(11, 51, "north east")])
    assert chart is not None
    (south_west,), (north_east,) = (mark.dots for mark in chart.marks)
    assert south_west.x < north_east.x
    assert south_west.y > north_east.y


def test_a_degree_is_as_long_in_both_directions() -> None:
    chart = positions(
        "Trucks",
        [GeoPosition(10, 60, "a"), GeoPosition(12, 60, "b"), GeoPosition(11, 61, "c"), GeoPosition(11, 59, "d")],
    )
    assert chart is not None
    a, b, c, d = (mark.dots[0] for mark in chart.marks)
    wide, high = (b.x - a.x) * 4, (d.y - c.y) * 3  # of the frame, which is 4 to 3
    assert wide / high == pytest.approx(0.5, rel=0.01), "at 60° N a degree of longitude is half as long"


def test_names_lie_over_no_other_place() -> None:
    crowd = [GeoPosition(10 + n / 1000, 50, f"truck {n}") for n in range(20)]
    chart = positions("Trucks", [*crowd, GeoPosition(11, 51, "alone")])
    assert chart is not None
    assert [label.text for label in chart.labels if label.text == "alone"] == ["alone"]
    assert len(chart.labels) < 5


def test_the_rarest_of_many_states_are_others() -> None:
    found = [GeoPosition(n, n, f"{n}", f"state {n % 10}") for n in range(60)]
    chart = positions("Trucks", found)
    assert chart is not None
    assert [shape.name for shape in chart.legend][-1] == "others"
    assert len(chart.legend) == PLACES
    assert sum(int(shape.newest) for shape in chart.legend) == 60


@pytest.mark.parametrize(
    ("value", "letters", "text"),
    [(12.5, "WE", "12.5° E"), (-0.12345678, "WE", "0.12346° W"), (0, "SN", "0°"), (-30.0, "SN", "30° S")],
)
def test_degrees_have_their_side(value: float, letters: str, text: str) -> None:
    assert degrees_text(value, letters) == text
