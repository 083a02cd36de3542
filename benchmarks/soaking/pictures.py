"""Pictures of what was sampled: SVG files, drawn by the console's charts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from benchmarks.soaking.levels import Samples
from sluice.console.charts.drawing import drawn
from sluice.console.charts.lines import ChartLine, lines

_WIDTH, _HEIGHT = 960, 320
_LEFT, _TOP, _RIGHT, _BOTTOM = 90, 50, 30, 50
_INNER = re.compile(r"<svg [^>]*class=\"picture\".*</svg>(?=\s*</div>)", re.DOTALL)
_STYLE = """\
text{font:13px sans-serif;fill:#444}.title{font-weight:600;fill:#111}
.grid line{stroke:#ddd}path.line{fill:none;stroke:#1f6feb;stroke-width:2;vector-effect:non-scaling-stroke}
path.points{stroke:#1f6feb;stroke-width:5;stroke-linecap:round;vector-effect:non-scaling-stroke}
.marks rect{fill:transparent}.dot path{fill:#1f6feb}"""


def write_pictures(folder: Path, measured: Mapping[str, tuple[str, Samples]], begun: float) -> list[Path]:
    """Write one picture of each measure, and return the files.

    Args:
        folder: where to; it is made.
        measured: unit and samples (seconds since the beginning, value), by name.
        begun: the beginning, in seconds since 1970.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, (unit, samples) in measured.items():
        chart = lines(
            name, [ChartLine(name, [(begun + at, value) for at, value in samples])], unit=unit, from_zero=True
        )
        if chart is None:
            continue
        files.append(folder / f"{name}.svg")
        files[-1].write_text(_standing_alone(str(drawn(chart)), f"{name} ({unit})"), encoding="utf-8")
    return files


def _standing_alone(figure: str, title: str) -> str:
    """Return the picture of a figure as a file of its own, with a size and the few rules that it needs."""
    found = _INNER.search(figure)
    assert found, "the console's charts have no picture any more"
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    inner = found.group().replace("<svg ", f'<svg x="{_LEFT}" y="{_TOP}" overflow="visible" ', 1)
    inner = inner.replace('class="picture"', f'class="picture" width="{width}" height="{height}"', 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}">\n'
        f'<style>{_STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n'
        f'<text class="title" x="{_LEFT}" y="28">{title}</text>\n{inner}\n</svg>\n'
    )
