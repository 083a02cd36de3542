"""How far a backfill is, and when it will be done."""

from __future__ import annotations

from datetime import datetime

from sluice.intervals.backfills import Backfill, BackfillState


def expected_end(backfill: Backfill) -> datetime | None:
    """Return when a running backfill will be done if it goes on as it did; None before its process has done a chunk.

    Its pace is that from the claim to the newest progress, so the answer does not wander off while a chunk is worked
    on. It may lie in the past: the chunk takes longer than those before it.
    """
    if backfill.state is not BackfillState.RUNNING or backfill.advanced_at is None:
        return None
    here = backfill.done - backfill.done_before
    if here <= 0:
        return None
    elapsed = backfill.advanced_at - backfill.claimed_at
    return backfill.advanced_at + elapsed * max(backfill.total - backfill.done, 0) / here


def progress_in_words(backfill: Backfill, now: datetime) -> str:
    """Return progress for people: `48 of 168 intervals (28 %), about 3 min 20 s to go`."""
    if not backfill.total:
        return "how much there is to do is not known yet"
    done = f"{backfill.done:,} of {backfill.total:,} intervals ({100 * backfill.done // backfill.total} %)"
    end = expected_end(backfill)
    if backfill.state is not BackfillState.RUNNING or backfill.done >= backfill.total:
        return done
    if end is None:
        return f"{done}, time to go not known before the next chunk is done"
    return f"{done}, about {_length(max((end - now).total_seconds(), 0))} to go"


def _length(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
