"""The record of cases in SQL: a case is one row, its events are rows that never change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, insert, select

from sluice.control.database import take_turns, transaction
from sluice.control.deployment_records import DeploymentRecords
from sluice.control.tables import quarantine_case, quarantine_event
from sluice.intervals.record_positions import RecordPositions
from sluice.quality.cases import Case, CaseEvent, CaseState, no_such_case, refuse_shared


class SqlCases(DeploymentRecords):
    """Implements `sluice.quality.cases.Cases` for one deployment. Safe from several processes at once."""

    def open(self, case: Case) -> Case:
        """Put a case on record."""
        with transaction(self._engine, write=True) as connection:
            take_turns(connection, self._turns)
            refuse_shared(case, self._cases(connection, quarantine_case.c.pipeline == case.pipeline))
            values = {
                "deployment": self._deployment,
                "id": case.id,
                "pipeline": case.pipeline,
                "selection": case.selection,
                "positions": json.dumps(list(case.positions.pieces())),
                "reasons": json.dumps(dict(case.reasons)),
                "opened_at": case.events[0].at,
            }
            connection.execute(insert(quarantine_case).values(values))
            self._add(connection, case.id, 0, case.events[0])
        return case

    def add(self, case_id: str, event: CaseEvent) -> Case:
        """Put a change on record, and return the case after it."""
        with transaction(self._engine, write=True) as connection:
            take_turns(connection, self._turns)
            before = self._one(connection, case_id)
            after = before.after(event)
            if after.state not in (before.state, CaseState.REPLAYED, CaseState.DISCARDED):
                others = self._cases(connection, quarantine_case.c.pipeline == before.pipeline)
                refuse_shared(after, [other for other in others if other.id != case_id])
            self._add(connection, case_id, len(before.events), event)
        return after

    def get(self, case_id: str) -> Case:
        """Return a case."""
        with transaction(self._engine) as connection:
            return self._one(connection, case_id)

    def of(self, pipeline: str | None = None) -> Sequence[Case]:
        """Return cases, newest first."""
        wanted = quarantine_case.c.deployment == self._deployment
        if pipeline is not None:
            wanted = and_(wanted, quarantine_case.c.pipeline == pipeline)
        with transaction(self._engine) as connection:
            return self._cases(connection, wanted)

    @property
    def _turns(self) -> str:
        return f"cases of {self._deployment}"

    def _one(self, connection: Connection, case_id: str) -> Case:
        matching = self._cases(connection, quarantine_case.c.id == case_id)
        if not matching:
            raise no_such_case(case_id, self._cases(connection, quarantine_case.c.deployment == self._deployment))
        return matching[0]

    def _cases(self, connection: Connection, wanted: ColumnElement[bool]) -> tuple[Case, ...]:
        columns = quarantine_case.c
        ours = and_(columns.deployment == self._deployment, wanted)
        newest_first = (columns.opened_at.desc(), columns.id.desc())
        rows = connection.execute(select(quarantine_case).where(ours).order_by(*newest_first)).all()
        of = quarantine_event.c
        theirs = and_(of.deployment == self._deployment, of.case_id.in_(select(columns.id).where(ours)))
        events: dict[str, list[CaseEvent]] = {}
        for row in connection.execute(select(quarantine_event).where(theirs).order_by(of.case_id, of.number)):
            events.setdefault(row.case_id, []).append(_event(row))
        return tuple(_case(row, events[row.id]) for row in rows)

    def _add(self, connection: Connection, case_id: str, number: int, event: CaseEvent) -> None:
        values = {
            "deployment": self._deployment,
            "case_id": case_id,
            "number": number,
            "state": event.state.value,
            "recorded_by": event.by,
            "why": event.why,
            "at": event.at,
            "backfills": json.dumps(event.backfills),
            "counts": None if event.counts is None else json.dumps(dict(event.counts)),
        }
        connection.execute(insert(quarantine_event).values(values))


def _case(row: Row[Any], events: Sequence[CaseEvent]) -> Case:
    pieces = ((topic, partition, (first, last)) for topic, partition, (first, last) in json.loads(row.positions))
    return Case(
        row.id, row.pipeline, row.selection, RecordPositions.joined(pieces), json.loads(row.reasons), tuple(events)
    )


def _event(row: Row[Any]) -> CaseEvent:
    counts = None if row.counts is None else json.loads(row.counts)
    return CaseEvent(CaseState(row.state), row.recorded_by, row.why, row.at, tuple(json.loads(row.backfills)), counts)
