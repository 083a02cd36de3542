"""How far a raw table has come, from its log."""

from __future__ import annotations

from pathlib import Path

from sluice.delta.log import read_log
from sluice.intervals.entries import StreamEntry


def stored(raw: Path) -> int:
    """Return how many records of its topic a raw table holds; of a topic that begins at offset 0."""
    ends = [each.entry.end for each in read_log(raw)[-1:] if isinstance(each.entry, StreamEntry)]
    return sum(ends[0].values()) if ends else 0
