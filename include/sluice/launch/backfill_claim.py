"""Claiming a backfill: on record and under lock in one step, so that no reader takes it for dead in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sluice.clock import Clock
from sluice.intervals.backfill.backfills import Backfill, Backfills
from sluice.intervals.backfill.request import Request
from sluice.launch.backfill_lock import BackfillLock


@contextmanager
def claimed(
    backfills: Backfills,
    folder: Path,
    request: Request,
    key: str,
    clock: Clock | None = None,
    *,
    submitted: bool = False,
) -> Iterator[Backfill]:
    """Claim a backfill by the key that names the asking, and hold its lock in its folder inside this block.

    Raises:
        OverlapError: another backfill works on a part of the range.
        RefusedError: the key is another request's, its process is alive, or it was cancelled before it began.
    """
    with ExitStack() as locks:

        def hold(backfill_id: str) -> None:
            lock = BackfillLock(folder / backfill_id, clock)
            lock.take()
            locks.callback(lock.release)

        def alive(other: str) -> bool:
            return BackfillLock(folder / other).held()

        yield backfills.claim(request, key, alive=alive, hold=hold, submitted=submitted)
