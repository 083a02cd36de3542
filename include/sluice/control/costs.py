"""The record of what drivers and batches have used, in SQL."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, delete, func, insert, select, update

from sluice.capacity.costs import CostReading, DayCost, Work
from sluice.control.database import take_turns, transaction
from sluice.control.deployment_records import DeploymentRecords
from sluice.control.tables import process_cost

_COLUMNS = process_cost.c
_AT_ONCE = 500
"""Runs that one statement names: databases bound the number of its parameters."""


class SqlCostLog(DeploymentRecords):
    """Implements `sluice.capacity.costs.CostLog` for one deployment. Safe from several processes at once."""

    def observe(self, readings: Sequence[CostReading], at: datetime) -> None:
        """Add what each process has used since its last reading to the day of this one."""
        if not readings:
            return
        today = at.astimezone(UTC).date()
        with transaction(self._engine, write=True) as connection:
            take_turns(connection, f"costs of {self._deployment}")
            newest = self._newest(connection, [reading.run for reading in readings])
            changed: list[dict[str, Any]] = []
            new: list[dict[str, Any]] = []
            for reading in readings:
                before = newest.get(reading.run)
                values = _values(reading, before, at)
                if before is None or before.day < today:
                    new.append({"deployment": self._deployment, "run": reading.run, "day": today, **values})
                else:
                    same_day = {"cpu_seconds": before.cpu_seconds, "executor_seconds": before.executor_seconds}
                    added = {name: value + values[name] for name, value in same_day.items()}
                    changed.append({"which": reading.run, "on": before.day, **values, **added})
            if changed:
                ours = _COLUMNS.deployment == self._deployment
                this = and_(ours, _COLUMNS.run == bindparam("which"), _COLUMNS.day == bindparam("on"))
                connection.execute(update(process_cost).where(this), changed)
            if new:
                connection.execute(insert(process_cost), new)

    def since(self, day: date) -> Sequence[DayCost]:
        """Return what was used from a day on, in the order of days."""
        wanted = and_(_COLUMNS.deployment == self._deployment, _COLUMNS.day >= day)
        return [_cost(row) for row in self._read(select(process_cost).where(wanted).order_by(_COLUMNS.day))]

    def observed_at(self) -> datetime | None:
        """Return when drivers were last read; None if they never were."""
        drivers = and_(_COLUMNS.deployment == self._deployment, _COLUMNS.work == Work.DRIVER.value)
        found = self._read(select(_COLUMNS.at).where(drivers).order_by(_COLUMNS.at.desc()).limit(1))
        return next((row.at for row in found), None)

    def forget(self, before: date) -> int:
        """Forget what was used before a day; return how many readings that were."""
        gone = and_(_COLUMNS.deployment == self._deployment, _COLUMNS.day < before)
        with transaction(self._engine, write=True) as connection:
            return connection.execute(delete(process_cost).where(gone)).rowcount

    def _newest(self, connection: Connection, runs: Collection[str]) -> Mapping[str, Row[Any]]:
        found: dict[str, Row[Any]] = {}
        names = list(runs)
        for first in range(0, len(names), _AT_ONCE):
            ours = and_(_COLUMNS.deployment == self._deployment, _COLUMNS.run.in_(names[first : first + _AT_ONCE]))
            days = select(_COLUMNS.run, func.max(_COLUMNS.day).label("day")).where(ours).group_by(_COLUMNS.run)
            last = days.subquery()
            same = and_(last.c.run == _COLUMNS.run, last.c.day == _COLUMNS.day)
            query = select(process_cost).join(last, same).where(_COLUMNS.deployment == self._deployment)
            found.update({row.run: row for row in connection.execute(query)})
        return found


def _values(reading: CostReading, before: Row[Any] | None, at: datetime) -> dict[str, Any]:
    """Return the columns of a reading; its seconds are those since the one before."""
    cpu, executors = (0.0, 0.0) if before is None else (before.counted_cpu, before.counted_executors)
    return {
        "work": reading.work.value,
        "subject": reading.subject,
        "cpu_seconds": max(0.0, reading.cpu_seconds - cpu),
        "executor_seconds": max(0.0, reading.executor_seconds - executors),
        "counted_cpu": max(reading.cpu_seconds, cpu),
        "counted_executors": max(reading.executor_seconds, executors),
        "reads": json.dumps(dict(sorted(reading.reads.items()))),
        "at": at,
    }


def _cost(row: Row[Any]) -> DayCost:
    reads = {str(stream): int(count) for stream, count in json.loads(row.reads).items()}
    reading = CostReading(row.run, Work(row.work), row.subject, row.cpu_seconds, row.executor_seconds, reads)
    return DayCost(row.day, reading)
