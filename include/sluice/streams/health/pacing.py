"""How often everything is observed: in a given rhythm, and more slowly where that would cost more than a small share.

A watcher lives in a process that has other work, so it may take at most a share of one core. What it observes grows
with the number of streams, so the round gets longer instead of the share: up to a minute, beyond which no user shall
wait whatever it costs.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_SECONDS = 57.0
"""Each unit is observed at least once a minute; the rest of the minute is for a machine that is busy."""


@dataclass(frozen=True)
class PollRate:
    """A rhythm.

    Attributes:
        seconds: from the beginning of a round to that of the next, as long as a round is cheap.
        share: of one core, which rounds take at most as long as they are not slower than `most`.
        most: the longest round in seconds.
    """

    seconds: float
    share: float
    most: float = MAX_SECONDS

    def period(self, cost: float) -> float:
        """Return how many seconds the next round lasts."""
        return max(self.seconds, min(cost / self.share, self.most))
