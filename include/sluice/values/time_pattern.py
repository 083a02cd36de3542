"""Times in a declared form of text: a part of the letters of Java's `DateTimeFormatter`, read strictly. Pure.

A form becomes a regular expression that Java and Python read alike, with a group for each part: the decoder in the JVM
is given it as it is. No form that depends on a language, a calendar or summer time is taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
FARTHEST_ZONE = timedelta(hours=18)

_TWO, _ONE_OR_TWO, _SIGN = "[0-9]{2}", "[0-9]{1,2}", "[+-][0-9]{2}"


class _Part(NamedTuple):
    """What a run of one letter stands for."""

    name: str
    regex: str
    output: str
    """Of `strftime`; empty: it is written in another way."""


_PARTS = {
    **dict.fromkeys(("yyyy", "uuuu"), _Part("year", "[0-9]{4}", "")),
    "MM": _Part("month", _TWO, "%m"),
    "M": _Part("month", _ONE_OR_TWO, ""),
    "MMM": _Part("month_name", "|".join(MONTHS), ""),
    "dd": _Part("day", _TWO, "%d"),
    "d": _Part("day", _ONE_OR_TWO, ""),
    "EEE": _Part("weekday", "|".join(DAYS), ""),
    "HH": _Part("hour", _TWO, "%H"),
    "H": _Part("hour", _ONE_OR_TWO, ""),
    "hh": _Part("half_hour", "0[1-9]|1[0-2]", "%I"),
    "h": _Part("half_hour", "0?[1-9]|1[0-2]", ""),
    "a": _Part("half", "AM|PM", ""),
    "mm": _Part("minute", _TWO, "%M"),
    "m": _Part("minute", _ONE_OR_TWO, ""),
    "ss": _Part("second", _TWO, "%S"),
    "s": _Part("second", _ONE_OR_TWO, ""),
    **{"S" * digits: _Part("fraction", f"[0-9]{{{digits}}}", "") for digits in range(1, 10)},
    **dict.fromkeys(("Z", "xx"), _Part("offset", f"{_SIGN}[0-9]{{2}}", "%z")),
    "xxx": _Part("offset", f"{_SIGN}:[0-9]{{2}}", "%:z"),
    "x": _Part("offset", f"{_SIGN}(?:[0-9]{{2}})?", "%z"),
    "XXX": _Part("offset", f"Z|{_SIGN}:[0-9]{{2}}", "%:z"),
    "XX": _Part("offset", f"Z|{_SIGN}[0-9]{{2}}", "%z"),
    "X": _Part("offset", f"Z|{_SIGN}(?:[0-9]{{2}})?", "%z"),
}
_LENGTHS = frozenset({"[0-9]{1,2}", "0?[1-9]|1[0-2]"})
_TOKEN = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']")
_OF_A_DAY = frozenset({"hour", "half_hour", "half", "minute", "second", "fraction", "offset"})


@dataclass(frozen=True)
class TimePattern:
    """A form of text.

    Attributes:
        text: as it is declared.
        regex: with a group for each part, in the dialect that Java and Python share.
        parts: what the groups are, in their order.
        output: the letters and literals that it is written by.
    """

    text: str
    regex: str
    parts: tuple[str, ...]
    output: tuple[str, ...]

    @property
    def has_zone(self) -> bool:
        """Whether a text names its zone."""
        return "offset" in self.parts

    @property
    def has_time(self) -> bool:
        """Whether it has more than a date."""
        return not _OF_A_DAY.isdisjoint(self.parts)

    def read(self, text: str, zone: timezone = UTC) -> datetime | None:
        """Return a time (UTC, of microseconds); None of any other text.

        Args:
            text: what is written.
            zone: of a text that names none.
        """
        match = re.fullmatch(self.regex, text)
        if match is None:
            return None
        found = dict(zip(self.parts, match.groups(), strict=True))
        try:
            day = _day(found)
            offset = _offset(found["offset"]) if self.has_zone else zone
            hour = int(found.get("hour", 0))
            if "half_hour" in found:
                hour = int(found["half_hour"]) % 12 + 12 * (found["half"] == "PM")
            micros = int((found.get("fraction", "") + "000000")[:6])
            minute, second = int(found.get("minute", 0)), int(found.get("second", 0))
            at = datetime(day.year, day.month, day.day, hour, minute, second, micros, offset)
            return at.astimezone(UTC)
        except (ValueError, OverflowError):
            return None

    def write(self, at: datetime, zone: timezone = UTC) -> str:
        """Return a time (UTC) in this form, in a zone."""
        return "".join(_written(part, at.astimezone(zone)) for part in self.output)


@lru_cache(maxsize=256)
def time_pattern(text: str) -> TimePattern:
    """Return a form.

    Raises:
        ValueError: it is none that can be read strictly, in words.
    """
    regex, output = "", []
    parts: list[_Part] = []
    at, before = 0, None
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError("a quote is not closed")
        at, run = token.end(), token[0]
        part = None
        if token[1] is None:
            literal = run if run[0] != "'" else run[1:-1].replace("''", "'") or "'"
            regex += re.escape(literal) if literal.isascii() else literal
            output.append(f"'{literal}")
        else:
            part = _part(run)
            if before is not None and before.regex in _LENGTHS and part.regex.startswith(("[0-9]", "0")):
                raise ValueError(f"where the number before {run!r} ends is not certain; write two letters for it")
            regex += f"({part.regex})"
            parts.append(part)
            output.append(run)
        before = part
    _refuse_incomplete([part.name for part in parts])
    return TimePattern(text, regex, tuple(part.name for part in parts), tuple(output))


def _part(run: str) -> _Part:
    if (part := _PARTS.get(run)) is not None:
        return part
    same = [known for known in _PARTS if known[0] == run[0] and known[0] != "S"]
    if run[0] == "S":
        raise ValueError("a second has 1 to 9 digits behind it")
    if same:
        raise ValueError(f"{run!r} is not known; of this letter there are {', '.join(same)}")
    letters = ", ".join(letter for letter, _ in groupby(known[0] for known in _PARTS))
    raise ValueError(f"the letter {run[0]!r} is not known; put text in single quotes, and take of letters {letters}")


def _refuse_incomplete(names: list[str]) -> None:
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"it has the {min(twice).replace('_', ' ')} twice")
    months = [name for name in names if name in ("month", "month_name")]
    if len(months) != 1 or "year" not in names or "day" not in names:
        raise ValueError("it needs the year (yyyy), the month once (MM or MMM) and the day (dd)")
    if ("half_hour" in names) is not ("half" in names) or ("half_hour" in names and "hour" in names):
        raise ValueError("hours of twelve are hh with AM or PM (a), and no HH beside them")


def _day(found: dict[str, str]) -> date:
    month = MONTHS.index(found["month_name"]) + 1 if "month_name" in found else int(found["month"])
    day = date(int(found["year"]), month, int(found["day"]))
    if "weekday" in found and DAYS[day.weekday()] != found["weekday"]:
        raise ValueError("another day of the week")
    return day


def _offset(text: str) -> timezone:
    if text == "Z":
        return UTC
    minutes = int(text[-2:]) if len(text) > len("+00") else 0
    length = timedelta(hours=int(text[1:3]), minutes=minutes)
    if minutes >= 60 or length > FARTHEST_ZONE:  # noqa: PLR2004 - an hour has so many
        raise ValueError("no offset")
    return timezone(-length if text[0] == "-" else length)


def _written(part: str, at: datetime) -> str:
    if part[0] == "'":
        return part[1:]
    name, output = _PARTS[part].name, _PARTS[part].output
    if output == "%:z":
        offset = at.strftime("%z")
        return "Z" if part == "XXX" and offset == "+0000" else f"{offset[:3]}:{offset[3:]}"
    if output:
        return at.strftime(output)
    numbers = {"month": at.month, "day": at.day, "hour": at.hour, "minute": at.minute, "second": at.second}
    named = {
        "year": f"{at.year:04}",
        "month_name": MONTHS[at.month - 1],
        "weekday": DAYS[at.weekday()],
        "half": "PM" if at.hour >= 12 else "AM",  # noqa: PLR2004 - noon
        "half_hour": str((at.hour + 11) % 12 + 1),
        "fraction": f"{at.microsecond:06}000"[: len(part)],
    }
    return named.get(name) or str(numbers[name])
