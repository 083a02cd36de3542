"""Charts as HTML: well formed whatever they show, described in words, and the same for those who see no picture."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sluice.console.charts.bars import bars
from sluice.console.charts.chart import Chart, printable
from sluice.console.charts.drawing import SYMBOLS, drawn
from sluice.console.charts.lines import ChartLine, lines
from sluice.console.charts.positions import GeoPosition, positions
from tests.unit.console.charts.frame import parsed

HOSTILE = '"><img src=x onerror="alert(1)">'
RIGHT_TO_LEFT = "\N{RIGHT-TO-LEFT OVERRIDE}txt.exe"
SVG = "{http://www.w3.org/2000/svg}"


def charts(name: str) -> list[Chart]:
    line = lines(name, [ChartLine(name, [(0.0, 1.0), (60.0, 2.0)]), ChartLine("b", [(0.0, 3.0)])], unit=name)
    found = [line, bars(name, [(name, 1.0)], unit=name), positions(name, [GeoPosition(1, 2, name, name)])]
    return [chart for chart in found if chart is not None]


@given(st.text() | st.text(st.characters(categories=["Cc", "Cf", "Cs", "Co", "Zl"]), min_size=1))
def test_any_text_gives_well_formed_html(text: str) -> None:
    for chart in charts(text):
        figure = parsed(chart)
        assert not {element.tag for element in figure.iter()} & {"img", "script", f"{SVG}script"}
        str(drawn(chart)).encode()


def test_hostile_text_is_text() -> None:
    for chart in charts(HOSTILE):
        assert "<img" not in str(drawn(chart))
        assert HOSTILE in "".join(parsed(chart).itertext())


def test_a_text_cannot_turn_what_stands_around_it() -> None:
    for chart in charts(RIGHT_TO_LEFT):
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in str(drawn(chart))
        assert "txt.exe" in "".join(parsed(chart).itertext())


def test_a_very_long_text_is_cut() -> None:
    assert len(printable("a" * 100_000)) == 200
    assert all(len(str(drawn(chart))) < 30_000 for chart in charts("a" * 100_000))


def test_a_picture_is_described_in_words_and_its_values_are_a_table() -> None:
    for chart in charts("Delay"):
        figure = parsed(chart)
        (picture,) = (svg for svg in figure.iter(f"{SVG}svg") if svg.get("role") == "img")
        assert picture.get("aria-label") == chart.words
        assert len(list(figure.iter("tr"))) == len(chart.table.rows) + 1
        areas = [group for group in figure.iter(f"{SVG}g") if group.get("class") == "mark-area"]
        assert [area[0].tag for area in areas] == [f"{SVG}title"] * len(chart.marks)
        assert figure.find("div").get("tabindex") == "0"  # type: ignore[union-attr]


def test_nothing_is_inline() -> None:
    for chart in charts("Delay"):
        attributes = {name for element in parsed(chart).iter() for name in element.attrib}
        assert not {name for name in attributes if name == "style" or name.startswith("on")}


def test_every_colour_has_a_symbol_and_a_dash_of_its_own() -> None:
    assert len(set(SYMBOLS)) == 8
    css = (Path(__file__).parents[4] / "include/sluice/console/static/charts.css").read_text()
    dashes = re.findall(r"^\.place\d \{.*--dash: ([\d ]+);", css, re.MULTILINE)
    assert len(set(dashes)) == 7, "the first is solid"
