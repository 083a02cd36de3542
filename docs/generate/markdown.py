"""Tables of Markdown, with whatever text in their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a cell's line ends and bars do not break it."""
    lines = [_row(head), "|" + "---|" * len(head)]
    return "\n".join([*lines, *(_row(row) for row in rows)])


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a docstring, each on one line."""
    return [" ".join(part.split()) for part in text.strip().split("\n\n")]


def code(text: str) -> str:
    """Return text as code, or nothing of nothing."""
    return f"`{text}`" if text else ""


def _row(cells: Sequence[str]) -> str:
    return "|" + "|".join(f" {_cell(cell)} " if cell else " " for cell in cells) + "|"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
