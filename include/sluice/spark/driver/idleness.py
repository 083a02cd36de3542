"""When a driver ends by itself because nothing comes, as a fold over what is seen of its streams."""

from __future__ import annotations

from datetime import timedelta


class Idleness:
    """Counts for how long without a break none of a driver's streams had anything to read.

    Args:
        limit: after so long the driver ends; None: never.
    """

    def __init__(self, limit: timedelta | None) -> None:
        self._limit = None if limit is None else limit.total_seconds()
        self._since: float | None = None

    def over(self, at_rest: bool, now: float) -> bool:
        """Take in one look, and return whether the driver is to end.

        Args:
            at_rest: whether each stream runs, found nothing to read the last time that it checked, and reads nothing
                now. A stream that has failed is not at rest: its end must not be hidden by one that is planned.
            now: seconds on a clock that only goes forward.
        """
        if self._limit is None or not at_rest:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= self._limit
