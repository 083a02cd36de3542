"""The record of backfills in memory: the same behaviour as `sluice.control.backfills.SqlBackfills`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock

from sluice.clock import Clock
from sluice.errors import CorruptionError
from sluice.intervals.backfill.backfills import OPEN, Backfill, BackfillState
from sluice.intervals.backfill.claiming import (
    DIED,
    backfill_id,
    dead_in_the_way,
    goes_on_running,
    no_such_backfill,
    not_running,
    refuse_withdrawn,
    withdrawn,
)
from sluice.intervals.backfill.request import Request


class InMemoryBackfills:
    """Implements `sluice.intervals.backfill.backfills.Backfills` for one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._records: dict[str, Backfill] = {}

    def submit(self, request: Request, key: str, *, alive: Callable[[str], bool]) -> Backfill:
        with self._lock:
            records, now = self._records, self._clock.now()
            own = self.find(key)
            if own is not None and goes_on_running(request, own, alive):
                return own
            name = own.id if own else backfill_id(request.pipeline, now, key, records.__contains__)
            records[name] = Backfill(name, key, request, BackfillState.SUBMITTED, now)
            return records[name]

    def claim(
        self,
        request: Request,
        key: str,
        *,
        alive: Callable[[str], bool],
        hold: Callable[[str], object] = lambda _: None,
        submitted: bool = False,
    ) -> Backfill:
        with self._lock:
            records, now = self._records, self._clock.now()
            own = next((found for found in records.values() if found.key == key), None)
            if submitted:
                refuse_withdrawn(own)
            running = [found for found in records.values() if found.state is BackfillState.RUNNING]
            dead = dead_in_the_way(request, own, running, alive)
            name = own.id if own else backfill_id(request.pipeline, now, key, records.__contains__)
            hold(name)
            for found in dead:
                records[found.id] = replace(found, state=BackfillState.FAILED, ended_at=now, why=DIED)
            records[name] = Backfill(name, key, request, BackfillState.RUNNING, now)
            return records[name]

    def advance(self, backfill_id: str, *, done: int, total: int) -> None:
        with self._lock:
            found = self._existing(backfill_id)
            if found.state is not BackfillState.RUNNING:
                raise not_running(found)
            progress = replace(found, done=done, total=total, advanced_at=self._clock.now())
            self._records[found.id] = progress if found.total else replace(progress, done_before=done)

    def end(self, backfill_id: str, state: BackfillState, *, outcome: str, why: str) -> Backfill:
        with self._lock:
            found = self._existing(backfill_id)
            if found.state in OPEN:
                ended = replace(found, state=state, ended_at=self._clock.now(), outcome=outcome, why=why)
                self._records[found.id] = ended
            return self._records[found.id]

    def ask_cancel(self, backfill_id: str, by: str) -> Backfill:
        with self._lock:
            found = self.get(backfill_id)
            if found.state is BackfillState.SUBMITTED:
                gone = replace(found, state=BackfillState.CANCELLED, ended_at=self._clock.now(), cancel_requested_by=by)
                self._records[found.id] = replace(gone, why=withdrawn(by))
                return self._records[found.id]
            if found.state is not BackfillState.RUNNING:
                raise not_running(found)
            self._records[found.id] = replace(found, cancel_requested_by=found.cancel_requested_by or by)
            return self._records[found.id]

    def get(self, backfill_id: str) -> Backfill:
        if backfill_id not in self._records:
            raise no_such_backfill(backfill_id, self.recent(limit=5))
        return self._records[backfill_id]

    def find(self, key: str) -> Backfill | None:
        return next((found for found in self._records.values() if found.key == key), None)

    def running(self, pipeline: str | None = None) -> Sequence[Backfill]:
        newest_first = self.recent(pipeline, limit=len(self._records))
        return tuple(found for found in reversed(newest_first) if found.state is BackfillState.RUNNING)

    def recent(self, pipeline: str | None = None, *, limit: int = 50) -> Sequence[Backfill]:
        wanted = [found for found in self._records.values() if pipeline in (None, found.request.pipeline)]
        return tuple(sorted(wanted, key=lambda found: (found.claimed_at, found.id), reverse=True)[:limit])

    def _existing(self, name: str) -> Backfill:
        if name not in self._records:
            raise CorruptionError(f"there is no backfill {name}.")
        return self._records[name]
