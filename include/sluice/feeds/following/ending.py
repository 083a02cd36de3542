"""When following ends by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sluice.clock import Clock


@dataclass(frozen=True)
class FollowUntil:
    """When following ends by itself.

    Attributes:
        seconds: after so long; None: never.
        idle_seconds: after so long without an event that did not come before; None: never.
        stopping: somebody wants it to end; asked several times a second.
    """

    seconds: float | None = None
    idle_seconds: float | None = None
    stopping: Callable[[], bool] = lambda: False


class FollowEnd:
    """Whether the end is there, from the beginning of a run on."""

    def __init__(self, until: FollowUntil, clock: Clock) -> None:
        self._until, self._clock = until, clock
        self._started = self._heard = clock.monotonic()

    def heard(self) -> None:
        """Note that a new event came."""
        self._heard = self._clock.monotonic()

    def reached(self) -> bool:
        """Return whether it is time to end."""
        until, now = self._until, self._clock.monotonic()
        late = until.seconds is not None and now - self._started >= until.seconds
        idle = until.idle_seconds is not None and now - self._heard >= until.idle_seconds
        return late or idle or until.stopping()
