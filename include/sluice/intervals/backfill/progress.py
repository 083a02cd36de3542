"""How far a backfill is, and when it will be done."""

from __future__ import annotations

from datetime import datetime

from sluice.intervals.backfill.backfills import Backfill, BackfillState


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
    if backfill.state is BackfillState.SUBMITTED:
        return f"submitted {_length((now - backfill.claimed_at).total_seconds())} ago, its process starts Spark"
    if not backfill.total:
        running = backfill.state is BackfillState.RUNNING
        return "Spark is up, it reads which intervals there are" if running else "it had not begun"
    done = f"{backfill.done:,} of {backfill.total:,} intervals ({100 * backfill.done // backfill.total} %)"
    end = expected_end(backfill)
    if backfill.state is not BackfillState.RUNNING or backfill.done >= backfill.total:
        return done
    if end is None:
        since = (now - (backfill.advanced_at or backfill.claimed_at)).total_seconds()
        return f"{done}, at work on its first chunk for {_length(since)}"
    return f"{done}, about {_length(max((end - now).total_seconds(), 0))} to go"


STARVED_AFTER_SECONDS = 90.0
_STARVED_SHARE = 0.1


def starvation_in_words(cpu_seconds: float | None, seconds: float, niceness: int) -> str:
    """Return what to say of a batch that gets next to no processor time; nothing of one that does, or is young.

    Args:
        cpu_seconds: what it and all that it started have got; None if that cannot be seen.
        seconds: how long it has lived.
        niceness: how far it gives way.
    """
    if cpu_seconds is None or seconds < STARVED_AFTER_SECONDS or cpu_seconds >= _STARVED_SHARE * seconds:
        return ""
    got = f"it got {_length(cpu_seconds)} of processor time in {_length(seconds)}"
    if not niceness:
        return f"{got}: this machine is busy, or its disk is slow"
    return (
        f"{got}: this machine is busy, and batches give way to all else (niceness {niceness}); wait, or cancel it and "
        "run it with SLUICE_BATCH_NICENESS=0, which makes it an equal"
    )


def _length(seconds: float) -> str:
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
