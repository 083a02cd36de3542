from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.console.html.batch_charts import charts_of
from sluice.console.html.charts import HEIGHT, WIDTH, ChartLine, layers, lines, number_text, spark
from sluice.streams.health.batch_log import BatchFigures
from tests.twins.observations import moment

VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1e12)), max_size=400)


def numbers(path: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", path)]


@given(VALUES)
def test_a_line_stays_in_its_picture_and_its_words_tell_the_highest(values: list[float | None]) -> None:
    points = [(float(at), value) for at, value in enumerate(values)]
    chart = lines("Rate", [ChartLine("in", points)], unit="/s")
    known = [value for value in values if value is not None]
    if chart is None:
        return
    assert len(known) > 1
    (shape,) = chart.shapes
    places = numbers(shape.path)
    assert all(0 <= x <= WIDTH for x in places[::2])
    assert all(-0.05 <= y <= HEIGHT + 0.05 for y in places[1::2])
    if len(values) <= 150:
        assert f"Highest: {number_text(max(known), '/s')} at" in chart.words


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=2, max_size=400))
def test_layers_add_up_within_their_picture(values: list[tuple[float, float]]) -> None:
    at = [float(place) for place in range(len(values))]
    found = [ChartLine(name, [(at[n], each[k]) for n, each in enumerate(values)]) for k, name in enumerate("ab")]
    chart = layers("Time", at, found)
    assert chart is not None
    for shape in chart.shapes:
        for bar in filter(None, shape.path.split(" M")):
            x, low, high, width, _ = numbers(bar)
            assert 0 <= x <= x + width <= WIDTH + 0.1
            assert -0.05 <= high <= low <= HEIGHT + 0.05


def test_a_picture_of_thousands_keeps_the_greatest() -> None:
    points = [(float(at), 100.0 if at == 777 else 1.0) for at in range(5000)]
    chart = lines("Rate", [ChartLine("in", points)])
    assert chart is not None
    (shape,) = chart.shapes
    assert len(shape.path) < 4000
    assert min(numbers(shape.path)[1::2]) == 0.0
    assert "Highest: 100 at" in chart.words


def test_what_is_unknown_interrupts_a_line() -> None:
    chart = lines("Rate", [ChartLine("in", [(0.0, 1.0), (1.0, None), (2.0, 2.0)])])
    assert chart is not None
    assert chart.shapes[0].path.count("M") == 2


@pytest.mark.parametrize("points", [[], [(0.0, 1.0)], [(0.0, None), (1.0, None)]])
def test_of_less_than_two_moments_there_is_no_picture(points: list[tuple[float, float | None]]) -> None:
    assert lines("Rate", [ChartLine("in", points)]) is None
    assert layers("Rate", [at for at, _ in points][:1], [ChartLine("in", points)]) is None
    assert spark(points) == ""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *((None, "unknown"), (0, "0"), (0.123456, "0.123"), (9.5, "9.5"), (123.4, "123"), (9999, "9999")),
        *((12345, "12.3k"), (2_500_000, "2.5M"), (3e9, "3G")),
    ],
)
def test_a_number_has_three_digits_that_count(value: float | None, words: str) -> None:
    assert number_text(value) == words


def test_pictures_of_a_stream_are_those_for_which_there_is_something() -> None:
    phases = {"addBatch": 100.0, "triggerExecution": 150.0}
    quiet = [BatchFigures(n, 1, moment(n), 5, 1.0, 2.0, phases) for n in range(3)]
    assert [chart.title for chart in charts_of(quiet)] == ["Records per second", "Duration of a batch by phase"]
    assert charts_of([]) == []
    full = [BatchFigures(n, 1, moment(n), 5, 1.0, 2.0, phases, moment(n - 60), 7, 8, 1, 9) for n in range(3)]
    assert len(charts_of(full)) == 6
    refusing = [replace(each, quarantined={"malformed": each.number}) for each in full]
    assert charts_of(refusing)[-1].title == "Records quarantined"
    assert len(charts_of([replace(each, quarantined={}) for each in full])) == 6


def test_a_line_does_not_lead_over_an_hour_that_nobody_knows() -> None:
    found = [BatchFigures(n, 1, moment(at), 5, 1.0, 2.0) for n, at in enumerate((0, 5, 3605, 3610))]
    rates = charts_of(found)[0]
    assert [shape.path.count("M") for shape in rates.shapes] == [2, 2]
