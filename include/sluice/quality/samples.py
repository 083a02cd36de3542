"""Values of the data in results and on pages: shown, masked, or left out."""

from __future__ import annotations

import re
from dataclasses import replace

from sluice.quality.check_result import CheckResult
from sluice.specs.expectations.model import Samples

_CLASS = re.compile(r"\[(?P<name>[A-Z0-9_.]+)\]")
"""Spark begins a message with what went wrong, in a name; the rest may quote a value."""


def with_samples(checked: CheckResult, samples: Samples) -> CheckResult:
    """Return an outcome with its values as the suite wants them.

    Where they are not shown, messages of the engine are removed, too, except the name of the error: they quote values.
    """
    if samples is Samples.SHOWN:
        return checked
    sample = tuple(dict.fromkeys(map(masked, checked.sample))) if samples is Samples.MASKED else ()
    error = checked.error if checked.error is None else _nameless(checked.error)
    return replace(checked, sample=sample, error=error, observed=_without_values(checked.observed))


def masked(text: str) -> str:
    """Return the form of a text: letters as `x` and `X`, digits as `9`; the names of columns stay."""
    return ", ".join(_masked(part) for part in text.split(", "))


def _masked(part: str) -> str:
    name, equals, value = part.partition("=")
    column = equals and re.fullmatch(r"[A-Za-z_]\w*", name)
    shown, hidden = (f"{name}=", value) if column else ("", part)
    return shown + re.sub(r"\d", "9", re.sub(r"[^\W\d_]", lambda letter: "X" if letter[0].isupper() else "x", hidden))


def _nameless(error: str) -> str:
    kind = error.partition(":")[0]
    named = _CLASS.search(error)
    name = kind if re.fullmatch(r"[A-Z]\w*(Error|Exception)", kind) else "an error"
    code = f": {named['name']}" if named else ""
    return f"{name}{code} (the message may quote values, and is left out)"


def _without_values(observed: str) -> str:
    """Great Expectations tells distinct or common values as what it observed."""
    values = observed.removeprefix("observed ")
    return observed if values == observed or re.fullmatch(r"[-+.\deE]+", values) else "observed values are left out"
