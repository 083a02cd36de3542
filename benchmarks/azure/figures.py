"""What a reader of the output has seen comes to: latencies by the minute, rates, what is lost, what is there twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_MINUTE_MS = 60_000
NEVER = -1

Milliseconds = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """What came out of each event, by its number.

    Attributes:
        created: when it was created, in milliseconds since 1970.
        readable: when it could first be read; `NEVER`: it could not.
        times: how often a reader has seen it.
    """

    created: Milliseconds
    readable: Milliseconds
    times: npt.NDArray[np.int64]

    def figures(self, since: int, minutes: int) -> dict[str, Any]:
        """Return the figures; latencies and rate are of so many minutes, the rest of all events.

        Args:
            since: when the first minute begins, in milliseconds since 1970; at least one event of each minute came out.
            minutes: how many.
        """
        waits = self.waits(since, minutes)
        return {
            "worst_minute_s": round(float(max(minute.mean() for minute in waits)), 3),
            "p99_s": round(float(np.percentile(np.concatenate(waits), 99)), 3),
            "duplicates": int(np.maximum(self.times - 1, 0).sum()),
            "lost": int((self.times == 0).sum()),
            "achieved_rate": round(min(self.rates(since, minutes))),
        }

    def waits(self, since: int, minutes: int) -> list[npt.NDArray[np.float64]]:
        """Return for each minute how many seconds the events took that were created in it and came out."""
        seconds, came = (self.readable - self.created) / 1_000, self.readable != NEVER
        minute = (self.created - since) // _MINUTE_MS
        return [seconds[came & (minute == number)] for number in range(minutes)]

    def rates(self, since: int, minutes: int) -> list[float]:
        """Return for each minute how many events per second became readable in it."""
        minute = (self.readable[self.readable != NEVER] - since) // _MINUTE_MS
        return [float((minute == number).sum()) * 1_000 / _MINUTE_MS for number in range(minutes)]
