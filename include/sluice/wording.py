"""Numbers and lists as messages say them."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 record` and `1,200 records`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(items: Sequence[object], most: int = 8, noun: str = "") -> str:
    """Return the first items, and how many more there are: `a, b and 3 more`.

    Args:
        items: in the order to name them in.
        most: how many are named.
        noun: what they are, in the plural; omitted: it follows from the text around.
    """
    more = f" and {len(items) - most} more{f' {noun}' if noun else ''}" if len(items) > most else ""
    return ", ".join(map(str, items[:most])) + more
