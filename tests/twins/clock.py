"""A clock that a test moves by hand: sleeping advances it, and nobody waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2013, 1, 7, 12, 0, tzinfo=UTC)


class ManualClock:
    """Twin of `sluice.clock.SystemClock`."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        self._elapsed += seconds
        self._now += timedelta(seconds=seconds)
