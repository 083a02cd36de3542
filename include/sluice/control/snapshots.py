"""The newest snapshots of streams in SQL.

A watcher writes one for each of ten thousand streams a minute: all but the keys is one text, and the statement goes to
the driver as it is. What SQLAlchemy does for each value would cost twice what the rest does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from operator import itemgetter
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Engine, Row, and_, bindparam, literal_column, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from sluice.control.database import transaction
from sluice.control.deployment_records import DeploymentRecords
from sluice.control.tables import stream_snapshot
from sluice.streams.health.snapshots import FRESH, DeadlineState, Rates, StreamSnapshot
from sluice.streams.health.verdict import Verdict

_TOGETHER = 500
"""Snapshots that are stored in one transaction: others may write too, and wait for its end."""


class SqlSnapshotStore(DeploymentRecords):
    """Implements `sluice.streams.health.snapshots.SnapshotStore` for one deployment. Safe from several processes."""

    def __init__(self, engine: Engine, deployment: str) -> None:
        super().__init__(engine, deployment)
        self._upsert, self._parameters = _upsert(engine)

    def store(self, snapshots: Sequence[StreamSnapshot]) -> None:
        """Put snapshots in place of older ones of the same streams."""
        # In one order in every process: two transactions that lock the same rows then wait, and never for each other.
        rows = [
            self._parameters(self._row(snapshot))
            for snapshot in sorted(snapshots, key=lambda snapshot: (snapshot.unit, snapshot.stream))
        ]
        for first in range(0, len(rows), _TOGETHER):
            with transaction(self._engine, write=True) as connection:
                connection.exec_driver_sql(self._upsert, rows[first : first + _TOGETHER])

    def of(self, units: Collection[str]) -> Mapping[str, Mapping[str, StreamSnapshot]]:
        """Return the newest snapshot of each stream of some units, by unit and stream, in a few queries."""
        columns = stream_snapshot.c
        ours = and_(columns.deployment == self._deployment, columns.unit.in_(bindparam("units", expanding=True)))
        snapshots: dict[str, dict[str, StreamSnapshot]] = {}
        for row in self._read_units(select(stream_snapshot).where(ours), units):
            if (snapshot := _snapshot_of(row)) is not None:
                snapshots.setdefault(row.unit, {})[row.stream] = snapshot
        return snapshots

    def _row(self, snapshot: StreamSnapshot) -> dict[str, Any]:
        state = (snapshot.verdict, snapshot.rates, snapshot.valid_for, snapshot.since, snapshot.deadlines)
        return {
            "deployment": self._deployment,
            "unit": snapshot.unit,
            "stream": snapshot.stream,
            "at": snapshot.at.timestamp(),
            "generation": snapshot.generation,
            "state": _state().dump_json(state, exclude_defaults=True).decode(),
        }


def _upsert(engine: Engine) -> tuple[str, Callable[[dict[str, Any]], Any]]:
    """Return the statement in the dialect's words, and what makes its parameters of a row."""
    insert = (postgresql if engine.dialect.name == "postgresql" else sqlite).insert(stream_snapshot)
    new = insert.excluded
    statement = insert.on_conflict_do_update(
        index_elements=["deployment", "unit", "stream"],
        set_={"at": new.at, "generation": new.generation, "state": new.state},
        # A snapshot that is older is left out, unless what is kept is from the future: then a clock was set back.
        where=or_(
            stream_snapshot.c.at <= new.at, stream_snapshot.c.at > new.at + literal_column(str(FRESH.total_seconds()))
        ),
    ).compile(dialect=engine.dialect)
    order = statement.positiontup
    return str(statement), dict if order is None else itemgetter(*order)


@cache
def _state() -> TypeAdapter[tuple[Verdict, Rates, timedelta, datetime | None, tuple[DeadlineState, ...]]]:
    return TypeAdapter(tuple[Verdict, Rates, timedelta, datetime | None, tuple[DeadlineState, ...]])


def _snapshot_of(row: Row[Any]) -> StreamSnapshot | None:
    """Return what a row holds; None for one that another version wrote, which the next snapshot replaces."""
    try:
        state = _state().validate_json(row.state)
    except ValidationError:
        return None
    return StreamSnapshot(row.unit, row.stream, row.generation, datetime.fromtimestamp(row.at, UTC), *state)
