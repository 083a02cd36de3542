"""What some texts are: the narrowest type of a field that reads each of them and loses nothing of it. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sluice.provisioning.importing.nested import is_date
from sluice.provisioning.importing.sample import FieldSample, epoch_of
from sluice.specs.model.model import FieldType, ValueField
from sluice.topics.declared_time import read_time
from sluice.values.time_pattern import time_pattern
from sluice.wording import counted

_ZONED = (
    "dd/MMM/yyyy:HH:mm:ss Z",
    "EEE, dd MMM yyyy HH:mm:ss Z",
    "yyyy-MM-dd HH:mm:ss Z",
    "yyyy-MM-dd HH:mm:ss XXX",
    "yyyy-MM-dd'T'HH:mm:ss,SSSXXX",
    "yyyy-MM-dd HH:mm:ss,SSSXXX",
    "yyyy-MM-dd HH:mm:ss,SSS Z",
)
_HOURS = (" HH:mm:ss", " HH:mm", " HH:mm:ss.SSS", " HH:mm:ss,SSS", " H:mm:ss", " H:mm", "")
_HALF_DAYS = (" hh:mm:ss a", " hh:mm a", " h:mm:ss a", " h:mm a")
_DAYS = ("dd.MM.yyyy", "d.M.yyyy", "yyyy/MM/dd", "dd-MMM-yyyy", "dd MMM yyyy")
FORMS = (
    *_ZONED,
    *("yyyy-MM-dd HH:mm:ss,SSS", "yyyy-MM-dd'T'HH:mm:ss,SSS"),
    *(f"{day}{hour}" for day in _DAYS for hour in _HOURS),
)
"""Forms that no text can be meant in otherwise; the first that fits is the strictest."""

DAY_OR_MONTH_FIRST = tuple(
    (f"{day}{hour}", f"{month}{hour}")
    for day, month in (
        ("dd/MM/yyyy", "MM/dd/yyyy"),
        ("d/M/yyyy", "M/d/yyyy"),
        ("dd-MM-yyyy", "MM-dd-yyyy"),
        ("d-M-yyyy", "M-d-yyyy"),
    )
    for hour in (*_HOURS, *_HALF_DAYS)
)
"""Forms with the day first, each with the one with the month first: of 01/02/2026 both are possible."""


_WHOLE = re.compile(r"-?[0-9]{1,1000}")
_NUMBER = re.compile(r"-?[0-9]{1,1000}(\.[0-9]{1,1000})?([eE][+-]?[0-9]{1,9})?")
_PADDED = re.compile(r"-?0[0-9].*|-0")
"""Numbers of which a number would not keep the first characters."""
_COMMA = re.compile(r"-?[0-9.]*,[0-9]+|-?[0-9]+")
_LONG = 2**63
_TEXT = {"type": FieldType.STRING.value}
_TRUTHS = ("true", "false")


@dataclass(frozen=True)
class TextGuess:
    """What texts are read as.

    Attributes:
        declared: the keys of the field in a spec, such as `{"type": "timestamp", "zone": "UTC"}`.
        note: what is to be known of it, in a clause; empty where nothing is.
        open_order: whether the texts are dates of which nothing says what is first, the day or the month.
    """

    declared: Mapping[str, str]
    note: str = ""
    open_order: bool = False


def takes(field: ValueField, text: str) -> bool:
    """Whether a part of a line is a value of a field; it says what the decoder of lines in the JVM says.

    Args:
        field: a flat one, as lines have them.
        text: the part, which is there and may be empty text in quotes.
    """
    taken = _TAKEN.get(field.type)
    return taken is not None and taken(field, text)


def guess_of(name: str, texts: Sequence[str], *, day_first: bool | None = None) -> TextGuess:
    """Return the narrowest type that takes all texts.

    Args:
        name: of the field; numbers are times since 1970 only in a field that is named like a time.
        texts: all values that there are, at least one.
        day_first: of dates such as 01/02/2026, if it is known.
    """
    if all(map(_WHOLE.fullmatch, texts)):
        return _of_whole_numbers(name, texts)
    if all(map(_NUMBER.fullmatch, texts)):
        return _of_numbers(texts)
    if set(texts) <= set(_TRUTHS):
        return TextGuess({"type": FieldType.BOOLEAN})
    fitting = [each for each in _times(day_first) if _all_taken(each.declared, texts)]
    if not fitting:
        return TextGuess(_TEXT, _why_text(texts))
    first, *others = fitting
    rival = next((each for each in others if first.open_order and _swapped(first) == each.declared["format"]), None)
    if rival is None:
        return TextGuess(first.declared, first.note)
    note = f"a date as {first.declared['format']} or as {rival.declared['format']}: no value says which; kept as text"
    return TextGuess(_TEXT, note, open_order=True)


def _all_taken(declared: Mapping[str, str], texts: Sequence[str]) -> bool:
    field = ValueField.model_validate(declared)
    return all(takes(field, text) for text in texts)


def _of_whole_numbers(name: str, texts: Sequence[str]) -> TextGuess:
    if any(map(_PADDED.fullmatch, texts)):
        return TextGuess(_TEXT, "numbers with zeros in front, which a number would lose; kept as text")
    if not all(_is_long(text) for text in texts):
        return TextGuess(_TEXT, "numbers beyond 64 bits, kept as text; declare a decimal if they are amounts")
    seen = FieldSample()
    for text in texts:
        seen.add(int(text), 0)
    if (unit := epoch_of(name, seen)) is not None:
        note = f"numbers of the size of times in {unit}; see that the unit is right"
        return TextGuess({"type": FieldType.TIMESTAMP, "epoch": unit}, note)
    return TextGuess({"type": FieldType.LONG})


def _of_numbers(texts: Sequence[str]) -> TextGuess:
    if any(map(_PADDED.fullmatch, texts)):
        return TextGuess(_TEXT, "numbers with zeros in front, which a number would lose; kept as text")
    if not all(_is_exact(text) for text in texts):
        return TextGuess(
            _TEXT, "numbers of more digits than a double keeps, kept as text; declare a decimal if they are amounts"
        )
    return TextGuess({"type": FieldType.DOUBLE})


def _times(day_first: bool | None) -> Iterator[TextGuess]:
    """Yield the declarations of times and dates, in the order in which they are tried."""
    yield TextGuess({"type": FieldType.TIMESTAMP})
    yield TextGuess({"type": FieldType.TIMESTAMP, "zone": "UTC"}, "names no zone; see that it is this one")
    yield TextGuess({"type": FieldType.DATE})
    for form in FORMS:
        yield _in_form(form)
    for day_form, month_form in DAY_OR_MONTH_FIRST:
        if day_first is not False:
            yield _in_form(day_form, open_order=day_first is None)
        if not day_first:
            yield _in_form(month_form)


def _in_form(form: str, *, open_order: bool = False) -> TextGuess:
    pattern = time_pattern(form)
    if not pattern.has_time:
        return TextGuess({"type": FieldType.DATE, "format": form}, "see that the form is right", open_order)
    if pattern.has_zone:
        return TextGuess({"type": FieldType.TIMESTAMP, "format": form}, "", open_order)
    note = "names no zone; see that the form and the zone are right"
    return TextGuess({"type": FieldType.TIMESTAMP, "format": form, "zone": "UTC"}, note, open_order)


def _swapped(guess: TextGuess) -> str:
    """Return the form with the month in front of one with the day there."""
    return dict(DAY_OR_MONTH_FIRST)[guess.declared["format"]]


def _why_text(texts: Sequence[str]) -> str:
    """Return why texts that look like something narrower are kept as they are; empty for plain text."""
    bare = [text.strip() for text in texts]
    if {text.lower() for text in bare} <= set(_TRUTHS):
        return "true and false in other letters than these, kept as text"
    if all(map(_COMMA.fullmatch, texts)):
        return "numbers with a decimal comma, kept as text; only a point is read in a number"
    for words, fits in _NARROWER.items():
        count = sum(map(fits, texts))
        if count < len(texts) and all(map(fits, bare)):
            return f"{words} with blanks around them, kept as text"
        if len(texts) // 2 < count < len(texts):
            return f"{words} in {count:,} of {counted(len(texts), 'value')}, and other text; kept as text"
    return ""


_INSTANT = ValueField(type=FieldType.TIMESTAMP, zone="UTC")
_NARROWER: Mapping[str, Callable[[str], bool]] = {
    "numbers": lambda text: _NUMBER.fullmatch(text) is not None,
    "times": lambda text: read_time(text, _INSTANT) is not None,
}


def _is_long(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and -_LONG <= int(text) < _LONG


def _is_integer(text: str) -> bool:
    return _is_long(text) and -(2**31) <= int(text) < 2**31


def _is_double(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def _is_exact(text: str) -> bool:
    """Whether a double has all digits of a number."""
    return _is_double(text) and Decimal(repr(float(text))) == Decimal(text)


def _is_time(field: ValueField, text: str) -> bool:
    return read_time(int(text) if field.epoch and _WHOLE.fullmatch(text) else text, field) is not None


def _is_date(field: ValueField, text: str) -> bool:
    if field.format is not None:
        return time_pattern(field.format).read(text) is not None
    return is_date(text)


_TAKEN: Mapping[FieldType, Callable[[ValueField, str], bool]] = {
    FieldType.STRING: lambda _field, _text: True,
    FieldType.LONG: lambda _field, text: _is_long(text),
    FieldType.INTEGER: lambda _field, text: _is_integer(text),
    FieldType.DOUBLE: lambda _field, text: _is_double(text),
    FieldType.BOOLEAN: lambda _field, text: text in _TRUTHS,
    FieldType.TIMESTAMP: _is_time,
    FieldType.DATE: _is_date,
}
