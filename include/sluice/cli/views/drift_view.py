"""Producer drift for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Column, Table

from sluice.cli.terminal.output import out, out_lines
from sluice.quality.drift import Departure, Drift
from sluice.topics.legible import safe


def print_drift(topic: str, found: Sequence[Departure]) -> None:
    """Print departures as a table, and the meaning of each kind."""
    if not found:
        out_lines.print(f"The records of {topic} are as declared.")
        return
    right = [Column(name, justify="right") for name in ("records", "first offset", "last offset")]
    table = Table("drift", "field", "type", "partition", *right, "hint", box=None)
    for each in found:
        number = each.partition.rpartition("/")[2]
        counts = (f"{each.records:,}", f"{each.first:,}", f"{each.last:,}")
        table.add_row(each.drift, escape(safe(each.field)), each.kind, number, *counts, each.hint)
    out.print(table)
    for drift in (kind for kind in Drift if any(each.drift is kind for each in found)):
        out_lines.print(f"{drift}: {drift.meaning}: {drift.what_to_do}.")
