"""Markdown for Airflow's pages. Whatever comes from specs or from the cluster is shown as text, never as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sluice.airflow.alerts.failure import printable

_PLAIN = re.compile(r"[^\w\s,.;:%'\"/+=()-]|_")
"""What may mean something to Markdown; a numeric reference never does, also not in a table's cell."""

_BREAK = "&#8203;"
"""No width: what it stands in is no address any more, which the page would otherwise make a link."""


def as_text(text: str) -> str:
    """Return a text such that Markdown shows it as it is, in one line."""
    line = " ".join(printable(text).split())
    line = _PLAIN.sub(lambda each: f"&#{ord(each[0])};", line)
    line = line.replace("://", f":{_BREAK}//").replace("&#64;", f"&#64;{_BREAK}")
    return re.sub(r"(?i)\bwww\.", lambda each: f"{each[0][:-1]}{_BREAK}.", line)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells are text."""
    lines = [list(header), ["---"] * len(header), *([as_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
