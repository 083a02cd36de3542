"""The record of how outputs with an objective were, in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, delete, func, insert, select, update

from sluice.control.database import take_turns, transaction
from sluice.control.deployment_records import DeploymentRecords
from sluice.control.tables import objective_span
from sluice.objectives.log import Minute, ObservedSpan, continued

_COLUMNS = objective_span.c


class SqlObjectiveLog(DeploymentRecords):
    """Implements `sluice.objectives.log.ObjectiveLog` for one deployment. Safe from several processes at once."""

    def observe(self, minutes: Mapping[str, Minute], at: datetime) -> None:
        """Put on record how outputs are now: in two statements, of however many."""
        with transaction(self._engine, write=True) as connection:
            take_turns(connection, f"objectives of {self._deployment}")
            newest = self._newest(connection, at)
            longer: list[dict[str, Any]] = []
            new: list[dict[str, Any]] = []
            for output, minute in minutes.items():
                before = newest.get(output)
                for each in continued(before, minute, at):
                    if before is not None and each.begin == before.begin:
                        longer.append({"which": output, "began": each.begin, "until": each.end})
                    else:
                        new.append(self._values(output, each))
            ours = _COLUMNS.deployment == self._deployment
            this = and_(ours, _COLUMNS.output == bindparam("which"), _COLUMNS.begins_at == bindparam("began"))
            if longer:
                connection.execute(update(objective_span).where(this).values(ends_at=bindparam("until")), longer)
            if new:
                connection.execute(insert(objective_span), new)

    def since(self, moment: datetime) -> Mapping[str, Sequence[ObservedSpan]]:
        """Return the spans of each output that end after a moment (UTC), in the order of time."""
        ours = and_(_COLUMNS.deployment == self._deployment, _COLUMNS.ends_at > moment)
        found: dict[str, list[ObservedSpan]] = {}
        for row in self._read(select(objective_span).where(ours).order_by(_COLUMNS.begins_at)):
            found.setdefault(row.output, []).append(_span(row))
        return found

    def forget(self, before: datetime) -> int:
        """Forget the spans that ended before a moment (UTC); return how many they were."""
        ours = and_(_COLUMNS.deployment == self._deployment, _COLUMNS.ends_at < before)
        with transaction(self._engine, write=True) as connection:
            return connection.execute(delete(objective_span).where(ours)).rowcount

    def _newest(self, connection: Connection, at: datetime) -> Mapping[str, ObservedSpan]:
        ours = and_(_COLUMNS.deployment == self._deployment, _COLUMNS.begins_at <= at)
        last = select(_COLUMNS.output, func.max(_COLUMNS.begins_at).label("begins_at")).where(ours)
        newest = last.group_by(_COLUMNS.output).subquery()
        same = and_(newest.c.output == _COLUMNS.output, newest.c.begins_at == _COLUMNS.begins_at)
        query = select(objective_span).join(newest, same).where(_COLUMNS.deployment == self._deployment)
        return {row.output: _span(row) for row in connection.execute(query)}

    def _values(self, output: str, span: ObservedSpan) -> dict[str, Any]:
        named = {"deployment": self._deployment, "output": output}
        return {**named, "begins_at": span.begin, "ends_at": span.end, "minute": span.minute.value}


def _span(row: Row[Any]) -> ObservedSpan:
    return ObservedSpan(row.begins_at, row.ends_at, Minute(row.minute))
