"""Time as a dependency: code that waits or stamps takes a Clock, so that no test sleeps."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time for stamps, monotonic time for durations."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start that never go backwards."""
        ...

    def sleep(self, seconds: float) -> None:
        """Block for `seconds`."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return `time.monotonic()`."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block for `seconds`."""
        time.sleep(seconds)
