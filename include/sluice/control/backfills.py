"""The record of backfills in SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, case, insert, select, update

from sluice.clock import Clock, SystemClock
from sluice.control.database import take_turns, transaction
from sluice.control.deployment_records import DeploymentRecords
from sluice.control.tables import backfill
from sluice.errors import CorruptionError
from sluice.intervals.alignment import Interval
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
from sluice.intervals.backfill.request import Mode, Only, Request, StaticChoice


class SqlBackfills(DeploymentRecords):
    """Implements `sluice.intervals.backfill.backfills.Backfills` for one deployment."""

    def __init__(self, engine: Engine, deployment: str, clock: Clock | None = None) -> None:
        super().__init__(engine, deployment)
        self._clock = clock or SystemClock()

    def submit(self, request: Request, key: str, *, alive: Callable[[str], bool]) -> Backfill:
        """Put a backfill on record as SUBMITTED, or take up the one that has this key."""
        with transaction(self._engine, write=True) as connection:
            self._take_turns(connection)
            own = self._one(connection, backfill.c.key == key)
            if own is not None and goes_on_running(request, own, alive):
                return own
            return self._put(connection, request, key, own, BackfillState.SUBMITTED)

    def claim(
        self,
        request: Request,
        key: str,
        *,
        alive: Callable[[str], bool],
        hold: Callable[[str], object] = lambda _: None,
        submitted: bool = False,
    ) -> Backfill:
        """Put a backfill on record as RUNNING, or take up the one that has this key."""
        with transaction(self._engine, write=True) as connection:
            self._take_turns(connection)
            own = self._one(connection, backfill.c.key == key)
            if submitted:
                refuse_withdrawn(own)
            for dead in dead_in_the_way(request, own, self._all(connection, _running(request.pipeline)), alive):
                self._end(connection, dead.id, BackfillState.FAILED, outcome="", why=DIED)
            claimed = self._put(connection, request, key, own, BackfillState.RUNNING)
            hold(claimed.id)
        return claimed

    def advance(self, backfill_id: str, *, done: int, total: int) -> None:
        """Record progress."""
        running = and_(self._of(backfill_id), backfill.c.state == BackfillState.RUNNING)
        before = case((backfill.c.total == 0, done), else_=backfill.c.done_before)
        progress = {"done": done, "total": total, "advanced_at": self._clock.now(), "done_before": before}
        with transaction(self._engine, write=True) as connection:
            changed = connection.execute(update(backfill).where(running).values(**progress)).rowcount
            existing = self._existing(connection, backfill_id)
        if not changed:
            raise not_running(existing)

    def end(self, backfill_id: str, state: BackfillState, *, outcome: str, why: str) -> Backfill:
        """Record the end; repeating it keeps the first record."""
        with transaction(self._engine, write=True) as connection:
            self._take_turns(connection)
            self._end(connection, backfill_id, state, outcome=outcome, why=why)
            return self._existing(connection, backfill_id)

    def ask_cancel(self, backfill_id: str, by: str) -> Backfill:
        """Record a request to stop; the first requester stays on record. A backfill that has not begun ends."""
        waiting = and_(self._of(backfill_id), backfill.c.state == BackfillState.SUBMITTED)
        ended = {"state": BackfillState.CANCELLED.value, "ended_at": self._clock.now(), "why": withdrawn(by)}
        asked = and_(self._of(backfill_id), backfill.c.cancel_requested_by == "")
        running = and_(asked, backfill.c.state == BackfillState.RUNNING)
        with transaction(self._engine, write=True) as connection:
            self._take_turns(connection)  # whoever claims it has read what this changes
            gone = connection.execute(update(backfill).where(waiting).values(cancel_requested_by=by, **ended)).rowcount
            connection.execute(update(backfill).where(running).values(cancel_requested_by=by))
            found = self._one(connection, backfill.c.id == backfill_id)
        if found is None:
            raise no_such_backfill(backfill_id, self.recent(limit=5))
        if found.state is not BackfillState.RUNNING and not gone:
            raise not_running(found)
        return found

    def get(self, backfill_id: str) -> Backfill:
        """Return one."""
        with transaction(self._engine) as connection:
            found = self._one(connection, backfill.c.id == backfill_id)
        if found is None:
            raise no_such_backfill(backfill_id, self.recent(limit=5))
        return found

    def find(self, key: str) -> Backfill | None:
        """Return the one that was claimed under a key, or None if none was."""
        with transaction(self._engine) as connection:
            return self._one(connection, backfill.c.key == key)

    def running(self, pipeline: str | None = None) -> Sequence[Backfill]:
        """Return all that are on record as RUNNING, of a pipeline if one is named, oldest first."""
        with transaction(self._engine) as connection:
            found = self._all(connection, _running(pipeline))
        return tuple(sorted(found, key=lambda one: (one.claimed_at, one.id)))

    def recent(self, pipeline: str | None = None, *, limit: int = 50) -> Sequence[Backfill]:
        """Return backfills, newest first."""
        wanted = backfill.c.deployment == self._deployment
        if pipeline is not None:
            wanted = and_(wanted, backfill.c.pipeline == pipeline)
        newest_first = (backfill.c.claimed_at.desc(), backfill.c.id.desc())
        query = select(backfill).where(wanted).order_by(*newest_first).limit(limit)
        return tuple(map(_backfill, self._read(query)))

    def _take_turns(self, connection: Connection) -> None:
        take_turns(connection, f"backfills of {self._deployment}")

    def _put(
        self, connection: Connection, request: Request, key: str, own: Backfill | None, state: BackfillState
    ) -> Backfill:
        now = self._clock.now()
        if own is None:
            name = backfill_id(
                request.pipeline, now, key, lambda id_: self._one(connection, backfill.c.id == id_) is not None
            )
            claimed = Backfill(name, key, request, state, now)
            connection.execute(insert(backfill).values(deployment=self._deployment, **_columns(claimed)))
        else:
            claimed = Backfill(own.id, key, request, state, now)
            connection.execute(update(backfill).where(self._of(own.id)).values(**_columns(claimed)))
        return claimed

    def _end(self, connection: Connection, name: str, state: BackfillState, *, outcome: str, why: str) -> None:
        running = and_(self._of(name), backfill.c.state.in_(OPEN))
        ended = {"state": state.value, "ended_at": self._clock.now(), "outcome": outcome, "why": why}
        connection.execute(update(backfill).where(running).values(**ended))

    def _of(self, name: str) -> ColumnElement[bool]:
        return and_(backfill.c.deployment == self._deployment, backfill.c.id == name)

    def _all(self, connection: Connection, wanted: ColumnElement[bool]) -> list[Backfill]:
        query = select(backfill).where(backfill.c.deployment == self._deployment, wanted)
        return [_backfill(row) for row in connection.execute(query)]

    def _one(self, connection: Connection, wanted: ColumnElement[bool]) -> Backfill | None:
        return next(iter(self._all(connection, wanted)), None)

    def _existing(self, connection: Connection, name: str) -> Backfill:
        found = self._one(connection, backfill.c.id == name)
        if found is None:
            raise CorruptionError(
                f"the control database has no backfill {name}, which was just acted on.",
                fix="see whether it was replaced by an older copy.",
            )
        return found


def _running(pipeline: str | None) -> ColumnElement[bool]:
    running = backfill.c.state == BackfillState.RUNNING
    return running if pipeline is None else and_(backfill.c.pipeline == pipeline, running)


def _columns(backfill: Backfill) -> dict[str, Any]:
    request = backfill.request
    return {
        "id": backfill.id,
        "key": backfill.key,
        "pipeline": request.pipeline,
        "range_start": request.range.start,
        "range_end": request.range.end,
        "mode": request.mode.value,
        "only": request.only.value,
        "requested_by": request.by,
        "request_reason": request.why,
        "state": backfill.state.value,
        "claimed_at": backfill.claimed_at,
        "ended_at": backfill.ended_at,
        "done": backfill.done,
        "total": backfill.total,
        "advanced_at": backfill.advanced_at,
        "done_before": backfill.done_before,
        "outcome": backfill.outcome,
        "why": backfill.why,
        "cancel_requested_by": backfill.cancel_requested_by,
        "accepts": request.accepts,
        "replays": request.replays,
        "static": request.static.value,
    }


def _backfill(row: Row[Any]) -> Backfill:
    asked = Request(
        pipeline=row.pipeline,
        range=Interval(row.range_start, row.range_end),
        mode=Mode(row.mode),
        by=row.requested_by,
        why=row.request_reason,
        only=Only(row.only),
        accepts=row.accepts,
        replays=row.replays,
        static=StaticChoice(row.static),
    )
    return Backfill(
        id=row.id,
        key=row.key,
        request=asked,
        state=BackfillState(row.state),
        claimed_at=row.claimed_at,
        ended_at=row.ended_at,
        done=row.done,
        total=row.total,
        outcome=row.outcome,
        why=row.why,
        cancel_requested_by=row.cancel_requested_by,
        advanced_at=row.advanced_at,
        done_before=row.done_before,
    )
