"""What `datetime.strptime` reads by a format, as one regular expression for Java and Python alike.

Only of ASCII digits: Python also takes those of other scripts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS_LONG = "september|february|november|december|january|october|august|march|april|june|july|may"
_DAYS_LONG = "wednesday|thursday|saturday|tuesday|monday|friday|sunday"
_ZONE = r"[+-]\d\d:?[0-5]\d(?::?[0-5]\d(?:\.\d{1,6})?)?|(?-i:Z)"
DIRECTIVES: Mapping[str, str] = {
    "Y": r"\d\d\d\d",
    "y": r"\d\d",
    "m": "1[0-2]|0[1-9]|[1-9]",
    "B": _MONTHS_LONG,
    "b": "|".join(MONTHS),
    "d": r"3[0-1]|[1-2]\d|0[1-9]|[1-9]| [1-9]",
    "A": _DAYS_LONG,
    "a": "mon|tue|wed|thu|fri|sat|sun",
    "H": r"2[0-3]|[0-1]\d|\d",
    "I": "1[0-2]|0[1-9]|[1-9]",
    "p": "am|pm",
    "M": r"[0-5]\d|\d",
    "S": r"6[0-1]|[0-5]\d|\d",
    "f": "[0-9]{1,6}",
    "z": _ZONE,
}
"""Directive → what it reads, in the order in which Python tries."""

ZONE = r"[+-](?:[01]\d|2[0-3])(?:[0-5]\d(?:[0-5]\d(?:\.\d{1,6})?)?|:[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)|Z"
"""A distance from UTC that can be one: less than a day, with every colon or none."""


@dataclass(frozen=True)
class TextFormat:
    """What a format reads, before the calendar is asked.

    Attributes:
        pattern: matches at the beginning of a text; the text reads if it ends where the match does.
        groups: directive → its group's number in the pattern.
    """

    pattern: str
    groups: Mapping[str, int]


def text_format(strftime_format: str) -> TextFormat:
    """Return what a format reads.

    Raises:
        ValueError: the format has no directive, one twice, or one that is not known here.
    """
    pattern = ""
    groups: dict[str, int] = {}
    parts = re.split(r"(%.?|\s+)", strftime_format, flags=re.DOTALL)
    for part in parts:
        if part == "%%":
            pattern += "%"
        elif part.startswith("%"):
            directive = part[1:]
            if directive not in DIRECTIVES:
                known = ", ".join(f"%{each}" for each in DIRECTIVES)
                raise ValueError(f"{part!r} is no directive that can be read here; those are {known}, %%")
            if directive in groups:
                raise ValueError(f"{part} appears there twice")
            groups[directive] = len(groups) + 1
            pattern += f"({DIRECTIVES[directive]})"
        else:
            pattern += r"\s+" if part.isspace() else re.escape(part)
    if not groups:
        raise ValueError("it has no directive, such as %Y")
    return TextFormat(f"(?i)^(?:{pattern})", groups)
