"""Forms of times and dates that are well known, as a spec's `format` has them."""

from __future__ import annotations

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
