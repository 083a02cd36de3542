"""When a stream that has ended alone is started again within its driver, by the rules that hold for whole drivers.

A driver is not given up for one of its streams, and a stream not for one bad minute. What a repetition only repeats is
not tried again: `sluice streams restart` does it, once a person has fixed the cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.governor import JITTER, POLICIES, STABLE_LEAST


@dataclass(frozen=True)
class StreamEnd:
    """One end of a stream whose driver went on: its class, and when (UTC) it had begun and ended."""

    kind: FailureClass
    began_at: datetime
    at: datetime


def again_at(ends: Sequence[StreamEnd], chance: float) -> datetime | None:
    """Return when a stream is started again; None: not by itself.

    Args:
        ends: of this stream in this driver, oldest first; at least one.
        chance: from 0 up to 1, so that streams that fell together do not rise together.
    """
    newest = ends[-1]
    policy = POLICIES[newest.kind]
    row = 0
    for end in reversed(ends):
        row += end.kind is newest.kind and newest.at - end.at < policy.span
        if end.at - end.began_at >= STABLE_LEAST:  # what fell before it is forgotten
            break
    if policy.budget is not None and row >= policy.budget:
        return None
    return newest.at + policy.wait(row) * (1 + JITTER * chance)
