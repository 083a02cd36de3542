"""How fast a feed is sent: as fast as it is acknowledged, at a rate, or in step with its arrival times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sluice.errors import SpecError


@dataclass(frozen=True)
class Pace:
    """Both bounds hold if both are given.

    Attributes:
        rate: most records per second.
        speed: most seconds of arrival time per second: 1 is real time, 3600 an hour per second.
    """

    rate: float | None = None
    speed: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("rate", self.rate), ("speed", self.speed)):
            if value is not None and not value > 0:
                raise SpecError(f"The {name} of a feed is {value}.", fix="give a number above 0, or leave it out.")

    def due(self, index: int, elapsed: timedelta) -> float:
        """Return how many seconds after the start a record may be sent that arrives so long after the first."""
        by_rate = index / self.rate if self.rate else 0.0
        by_speed = elapsed.total_seconds() / self.speed if self.speed else 0.0
        return max(by_rate, by_speed)
