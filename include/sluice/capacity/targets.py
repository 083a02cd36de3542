"""What is asked of a plan: a rate, and what may be wanted besides."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sluice.errors import SpecError

_FACTOR = re.compile(r"([0-9.eE+]+)\s*x")
_RATE = re.compile(r"([0-9.eE+,_]+)\s*/\s*(s|min|h|day)")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "day": 86_400}
_WRITE = "write a factor of today's rate, such as 2x, or records per time, such as 5000/s, 300000/min or 2e6/h."
MAX_RATE = 1e10
"""Records per second that no machine sees."""
MAX_HEADROOM = 0.9


@dataclass(frozen=True)
class WantedRate:
    """A rate as it was asked for; exactly one of both is given.

    Attributes:
        factor: of the measured rate.
        per_second: records per second.
    """

    factor: float | None = None
    per_second: float | None = None

    def of(self, measured: float) -> float:
        """Return records per second."""
        return self.per_second if self.per_second is not None else (self.factor or 1.0) * measured


@dataclass(frozen=True)
class Target:
    """What is wanted.

    Attributes:
        rate: of records.
        latency: seconds within which each record is to be in a committed batch; None: no such wish.
        outage: seconds of a standstill after which it is to catch up.
        catch_up: seconds within which it is to have caught up.
        headroom: share of cores and memory that stays free, 0 to `MAX_HEADROOM`.
        days: for how long a disk must suffice for what is kept for ever.
    """

    rate: WantedRate
    latency: float | None = None
    outage: float = 0.0
    catch_up: float = 3600.0
    headroom: float = 0.3
    days: float = 30.0

    def __post_init__(self) -> None:
        """Refuse what cannot be planned for.

        Raises:
            SpecError: the first of it.
        """
        _require(self.latency is None or _positive(self.latency), f"a latency of {self.latency} s", "above 0 s")
        _require(math.isfinite(self.outage) and self.outage >= 0, f"an outage of {self.outage} s", "of 0 s or more")
        _require(_positive(self.catch_up), f"catching up in {self.catch_up} s", "above 0 s")
        _require(0 <= self.headroom <= MAX_HEADROOM, f"a headroom of {self.headroom}", f"from 0 to {MAX_HEADROOM}")
        _require(_positive(self.days), f"a disk for {self.days} days", "above 0 days")

    @property
    def surge(self) -> float:
        """By which factor of the rate it must read while it catches up."""
        return 1 + self.outage / self.catch_up


def parse_rate(text: str) -> WantedRate:
    """Read `2x` or `5000/s`.

    Raises:
        SpecError: it is anything else, or not a number above 0.
    """
    if match := _FACTOR.fullmatch(text.strip()):
        return WantedRate(factor=_number(match[1], text))
    if match := _RATE.fullmatch(text.strip()):
        return WantedRate(per_second=_number(match[1].replace(",", ""), text) / _SECONDS[match[2]])
    raise SpecError(f"{text!r} is not a rate.", fix=_WRITE)


def _number(digits: str, text: str) -> float:
    try:
        value = float(digits)
    except ValueError:
        raise SpecError(f"{text!r} is not a rate.", fix=_WRITE) from None
    if not 0 < value <= MAX_RATE:
        raise SpecError(f"{text!r} is no rate to plan for: it has to be above 0 and below {MAX_RATE:g}.", fix=_WRITE)
    return value


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _require(holds: bool, what: str, allowed: str) -> None:
    if not holds:
        raise SpecError(f"{what} cannot be planned for.", fix=f"give one {allowed}.")
