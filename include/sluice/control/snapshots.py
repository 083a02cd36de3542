"""The newest snapshots of streams in SQL.

A watcher writes one for each of ten thousand streams a minute: all but the keys is one text, and the statement goes to
the driver as it is. What SQLAlchemy does for each value would cost twice what the rest does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from operator import itemgetter
from typing import Any

from pydantic_core import to_json
from sqlalchemy import Engine, Row, and_, bindparam, literal_column, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from sluice.control.database import transaction
from sluice.control.newest import MAX_UNITS
from sluice.control.tables import stream_snapshot
from sluice.specs.model.deadlines import Deadline
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import FRESH, DeadlineState, Rates, StreamSnapshot
from sluice.streams.health.verdict import PartitionLag, Verdict

_TOGETHER = 500
"""Snapshots that are stored in one transaction: others may write too, and wait for its end."""


class SqlSnapshotStore:
    """Implements `sluice.streams.health.snapshots.SnapshotStore` for one deployment. Safe from several processes."""

    def __init__(self, engine: Engine, deployment: str) -> None:
        self._engine = engine
        self._deployment = deployment
        self._upsert, self._parameters = _upsert(engine)

    def store(self, snapshots: Sequence[StreamSnapshot]) -> None:
        """Put snapshots in place of older ones of the same streams."""
        # In one order, whoever writes: two transactions that lock the same rows then wait, and never for each other.
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
        found: dict[str, dict[str, StreamSnapshot]] = {}
        left = iter(units)
        while some := list(islice(left, MAX_UNITS)):
            with transaction(self._engine) as connection:
                rows = connection.execute(select(stream_snapshot).where(ours), {"units": some}).all()
            for row in rows:
                found.setdefault(row.unit, {})[row.stream] = _snapshot_of(row)
        return found

    def _row(self, snapshot: StreamSnapshot) -> dict[str, Any]:
        return {
            "deployment": self._deployment,
            "unit": snapshot.unit,
            "stream": snapshot.stream,
            "at": snapshot.at.timestamp(),
            "generation": snapshot.generation,
            "state": to_json(_state(snapshot)).decode(),
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


def _state(snapshot: StreamSnapshot) -> list[Any]:
    verdict = snapshot.verdict
    return [
        verdict.health.value,
        verdict.why,
        verdict.what_to_do,
        verdict.lag_records,
        verdict.batches,
        None if verdict.committed_at is None else verdict.committed_at.timestamp(),
        verdict.completeness,
        verdict.lag_seconds,
        verdict.watermark_lag_seconds,
        verdict.catch_up_seconds,
        verdict.loss_seconds,
        [[lag.partition, lag.records, lag.seconds] for lag in verdict.partitions],
        snapshot.rates,
        snapshot.valid_for.total_seconds(),
        None if snapshot.since is None else snapshot.since.timestamp(),
        [[d.deadline, d.missed, d.since.timestamp(), d.why, d.what_to_do] for d in snapshot.deadlines],
    ]


def _snapshot_of(row: Row[Any]) -> StreamSnapshot:
    health, why, what_to_do, lag_records, batches, committed_at, *figures = json.loads(row.state)
    completeness, lag_seconds, watermark_lag_seconds, catch_up_seconds, loss_seconds, *moment = figures
    partitions, rates, good_for, since, deadlines = moment
    verdict = Verdict(
        Health(health),
        why,
        what_to_do,
        lag_records=lag_records,
        batches=batches,
        committed_at=None if committed_at is None else datetime.fromtimestamp(committed_at, UTC),
        completeness=completeness,
        lag_seconds=lag_seconds,
        watermark_lag_seconds=watermark_lag_seconds,
        catch_up_seconds=catch_up_seconds,
        loss_seconds=loss_seconds,
        partitions=tuple(PartitionLag(*partition) for partition in partitions),
    )
    at = datetime.fromtimestamp(row.at, UTC)
    return StreamSnapshot(
        row.unit,
        row.stream,
        row.generation,
        at,
        verdict,
        Rates(*rates),
        timedelta(seconds=good_for),
        None if since is None else datetime.fromtimestamp(since, UTC),
        tuple(
            DeadlineState(Deadline(deadline), missed, datetime.fromtimestamp(begun, UTC), why, advice)
            for deadline, missed, begun, why, advice in deadlines
        ),
    )
