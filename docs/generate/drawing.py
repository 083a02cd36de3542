"""The drawing of the architecture, as SVG: boxes on a grid, and arrows between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_COLUMN, _ROW, _WIDTH, _HEIGHT, _MARGIN = 200, 110, 160, 64, 20
_STYLE = """
  text { font: 13px system-ui, sans-serif; text-anchor: middle; fill: #1f2933 }
  .note { font-size: 11px; fill: #52606d }
  .ours { fill: #e3f0ff; stroke: #2b6cb0 }
  .engine { fill: #fff; stroke: #7b8794 }
  .table { fill: #eaf7ee; stroke: #2f855a }
  path { fill: none; stroke: #52606d; stroke-width: 1.5 }
"""


@dataclass(frozen=True)
class Box:
    """A box of the drawing.

    Attributes:
        name: its first line.
        note: its second line, smaller.
        column: from the left, from 0.
        row: from the top, from 0.
        kind: `ours`, `engine` or `table`.
    """

    name: str
    note: str
    column: int
    row: int
    kind: str = "ours"

    @property
    def left(self) -> int:
        """Return where it begins, in pixels."""
        return _MARGIN + self.column * _COLUMN

    @property
    def top(self) -> int:
        """Return where it begins, in pixels."""
        return _MARGIN + self.row * _ROW


BOXES = (
    Box("Feed or producer", "any client of Kafka", 0, 0, "engine"),
    Box("Kafka topic", "made by the DAG topics", 1, 0, "engine"),
    Box("Driver of a unit", "Spark, under its keeper", 2, 0),
    Box("Raw table", "every record, once", 3, 0, "table"),
    Box("Specs and transform", "YAML and one function", 0, 1, "engine"),
    Box("Airflow", "DAGs, triggerer, alerts", 1, 1, "engine"),
    Box("Interval table", "closed intervals", 2, 1, "table"),
    Box("Backfill", "Spark, same function", 3, 1),
    Box("Control database", "desired state, attempts", 0, 2, "table"),
    Box("Verdicts and alerts", "why, and what to do", 1, 2),
    Box("Readers", "Spark, DuckDB, pandas", 2, 2, "engine"),
    Box("Parity and quality gate", "identical, or explained", 3, 2),
)
ARROWS = (
    ("Feed or producer", "Kafka topic"),
    ("Kafka topic", "Driver of a unit"),
    ("Driver of a unit", "Raw table"),
    ("Driver of a unit", "Interval table"),
    ("Specs and transform", "Airflow"),
    ("Airflow", "Kafka topic"),
    ("Raw table", "Backfill"),
    ("Backfill", "Parity and quality gate"),
    ("Interval table", "Readers"),
    ("Verdicts and alerts", "Control database"),
    ("Airflow", "Verdicts and alerts"),
    ("Backfill", "Interval table"),
)


def drawing(boxes: Sequence[Box] = BOXES, arrows: Sequence[tuple[str, str]] = ARROWS) -> str:
    """Return the drawing as SVG; arrows join neighbours, in a row or in a column."""
    width = 2 * _MARGIN + max(box.column for box in boxes) * _COLUMN + _WIDTH
    height = 2 * _MARGIN + max(box.row for box in boxes) * _ROW + _HEIGHT
    named = {box.name: box for box in boxes}
    parts = [*(_arrow(named[begin], named[end]) for begin, end in arrows), *map(_box, boxes)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        "<title>How Sluice is built: records flow from left to right, results from top to bottom</title>\n"
        f"<style>{_STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" style="fill:#52606d;stroke:none"/></marker></defs>\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _box(box: Box) -> str:
    middle = box.left + _WIDTH // 2
    return (
        f'<rect class="{box.kind}" x="{box.left}" y="{box.top}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
        f'<text x="{middle}" y="{box.top + 28}">{escape(box.name)}</text>'
        f'<text class="note" x="{middle}" y="{box.top + 46}">{escape(box.note)}</text>'
    )


def _arrow(begin: Box, end: Box) -> str:
    if begin.row == end.row:
        forth = end.column > begin.column
        y = begin.top + _HEIGHT // 2
        from_x, to_x = (begin.left + _WIDTH, end.left) if forth else (begin.left, end.left + _WIDTH)
        return f'<path d="M{from_x} {y} {to_x} {y}" marker-end="url(#tip)"/>'
    down = end.row > begin.row
    x = begin.left + _WIDTH // 2
    from_y, to_y = (begin.top + _HEIGHT, end.top) if down else (begin.top, end.top + _HEIGHT)
    return f'<path d="M{x} {from_y} {x} {to_y}" marker-end="url(#tip)"/>'
