"""Numbers as people read them, with their unit."""

from __future__ import annotations

from math import floor, isfinite, log10

MAGNITUDES = ((1e12, "T"), (1e9, "G"), (1e6, "M"))
EXPONENT_FROM, EXPONENT_BELOW = 1e15, 1e-3
"""Beyond these a number is written as a power of ten."""
_WHOLE = 100
"""From here on digits behind the point say nothing."""
_JOINED = "/%°"
"""A unit that begins so stands right behind its number."""
NO_BREAK = "\N{NO-BREAK SPACE}"


def number_text(value: float | None, unit: str = "") -> str:
    """Return a number as a person reads it: three digits that count, all digits of a whole number below a million."""
    return "unknown" if value is None else with_unit(_rounded(value, 3), unit)


def exact_text(value: float | None, unit: str = "") -> str:
    """Return a number with all the digits that say something: of a whole number all, of another six."""
    if value is None:
        return "unknown"
    whole = abs(value) < EXPONENT_FROM and value == int(value)
    return with_unit(f"{int(value):,}" if whole else _rounded(value, 6, magnitudes=False), unit)


def with_unit(text: str, unit: str) -> str:
    """Return a number's text with its unit, which never begins a line."""
    return text if not unit else f"{text}{unit}" if unit[0] in _JOINED else f"{text}{NO_BREAK}{unit}"


def change_text(share: float) -> str:
    """Return a change as a signed percentage: 0.25 is +25 %."""
    text = number_text(100 * share, "") if isfinite(100 * share) else number_text(share)
    return f"{'+' if share > 0 else ''}{text}{NO_BREAK}%".replace("-", "\N{MINUS SIGN}")


def power_text(value: float, digits: int) -> str:
    """Return a number as a power of ten, such as 1.2e18."""
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}"


def _rounded(value: float, digits: int, *, magnitudes: bool = True) -> str:
    size = abs(value)
    if value == 0:
        return "0"
    if size >= EXPONENT_FROM or size < EXPONENT_BELOW:
        return power_text(value, digits)
    for least, letter in MAGNITUDES if magnitudes else ():
        if size >= least:
            return f"{_decimal(value / least, digits)}{NO_BREAK}{letter}"
    if magnitudes and (size >= _WHOLE or value == int(value)):
        return f"{value:,.0f}"
    return _decimal(value, digits)


def _decimal(value: float, digits: int) -> str:
    behind = max(0, digits - 1 - floor(log10(abs(value))))
    text = f"{value:,.{behind}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
