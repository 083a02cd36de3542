"""What holds of every chart: all of it lies in its frame, ticks within its axes, and its HTML is well formed."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from sluice.console.charts.chart import SIZE, Chart
from sluice.console.charts.drawing import drawn

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_MOVE = re.compile(r"[ML]([\d.-]+) ([\d.-]+)")
SLACK = 0.05


def numbers(path: str) -> list[float]:
    return [float(found) for found in _NUMBER.findall(path)]


def assert_in_frame(chart: Chart) -> None:
    """Everything that is drawn lies in the frame."""
    for shape in chart.shapes:
        for x, y in _MOVE.findall(f"{shape.path} {shape.points}"):
            assert -SLACK <= float(x) <= SIZE + SLACK
            assert -SLACK <= float(y) <= SIZE + SLACK
    for tick in (*chart.x_ticks, *chart.y_ticks):
        assert 0 <= tick.at <= 100
    for mark in chart.marks:
        assert mark.width >= 0
        assert mark.height >= 0
        for dot in mark.dots:
            assert -SLACK <= dot.x <= 100 + SLACK
            assert -SLACK <= dot.y <= 100 + SLACK
            assert mark.x - SLACK <= dot.x <= mark.x + mark.width + SLACK
    for label in chart.labels:
        assert 0 <= label.x <= 100
        assert 0 <= label.y <= 100
    assert len(chart.marks) == len(chart.table.rows)
    parsed(chart)


def parsed(chart: Chart) -> ET.Element:
    """Return the chart's HTML, read as strictly as XML is."""
    return ET.fromstring(str(drawn(chart)))  # noqa: S314 - it is ours
