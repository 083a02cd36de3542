"""What a watcher saw last of each stream: what a page shows of a thousand streams without looking itself.

A look replaces the one before, unless it is older: several watchers may look at one stream. It is no history and
proves nothing; what is worth keeping is a recorded verdict, see `sluice.streams.recording`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from sluice.streams.verdict import Verdict
from sluice.streams.window import Window

RATE_SPAN = timedelta(minutes=5)
"""Rates are means over this much of the past, or as much of it as is known."""


class Rates(NamedTuple):
    """Records per second over the last minutes; None where too little of the past is known.

    Attributes:
        arriving: what the broker took in.
        read: what batches that are committed have read.
    """

    arriving: float | None = None
    read: float | None = None


UNKNOWN_RATES = Rates()


@dataclass(frozen=True)
class StreamLook:
    """One look at a stream.

    Attributes:
        unit: its driver's name in the specs.
        stream: its name.
        generation: of the unit's newest attempt.
        at: when it was looked at (UTC).
        verdict: what was made of it, with the lags of its partitions.
        rates: how fast records come and are read.
    """

    unit: str
    stream: str
    generation: int
    at: datetime
    verdict: Verdict
    rates: Rates = UNKNOWN_RATES


class NewestLooks(Protocol):
    """Keeps the newest look at each stream. Both methods may raise UnreachableError."""

    def keep(self, looks: Sequence[StreamLook]) -> None:
        """Put looks in place of older ones of the same streams."""
        ...

    def of(self, units: Collection[str]) -> Mapping[str, Mapping[str, StreamLook]]:
        """Return the newest look at each stream of some units, by unit and stream, in a few queries."""
        ...


def rates_of(window: Window, now: datetime) -> Rates:
    """Return how fast records came and were read of late.

    Args:
        window: the stream's recent past.
        now: the present (UTC).
    """
    until = now.timestamp()
    since = until - RATE_SPAN.total_seconds()
    samples, batches = window.samples, window.batches
    heard, committed = samples.column(0), batches.column(2)
    arriving = _per_second(heard, samples.column(1), since, heard[-1]) if len(samples) > 1 else None
    read = _per_second(committed, batches.column(3), since, until) if len(batches) > 1 else None
    return Rates(arriving, read)


def _per_second(at: Sequence[float], count: Sequence[float], since: float, until: float) -> float | None:
    """Return how fast a count grew; what is not known before `since` is left out."""
    first = max(bisect_right(at, since) - 1, 0)
    seconds = until - max(at[first], since)
    return max(0.0, count[-1] - count[first]) / seconds if seconds > 0 else None
