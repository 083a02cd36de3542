"""The record of growths of keyed topics in SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update

from sluice.control.database import take_turns, transaction
from sluice.control.deployment_records import DeploymentRecords
from sluice.control.tables import order_break
from sluice.provisioning.growth.order_break import OrderBreak, grown_already, no_such_intent


class SqlOrderBreaks(DeploymentRecords):
    """Implements `sluice.provisioning.growth.order_break.OrderBreaks` for one deployment."""

    def intend(self, found: OrderBreak) -> None:
        """Put on record that a topic is about to grow, instead of an earlier intent of the same growth."""
        values = {
            "deployment": self._deployment,
            "topic_id": found.topic_id,
            "partitions": found.after,
            "topic": found.topic,
            "before": found.before,
            "offsets": json.dumps(dict(sorted(found.offsets.items()))),
            "intended_at": found.intended_at,
        }
        this = self._this(found.topic_id, found.after)
        with transaction(self._engine, write=True) as connection:
            take_turns(connection, f"order breaks of {self._deployment}")
            known = self._one(connection, this)
            if known is not None and known.grown_at is not None:
                raise grown_already(known)
            connection.execute(delete(order_break).where(this))
            connection.execute(insert(order_break).values(values))

    def confirm(self, topic_id: str, after: int, *, at: datetime, drained: bool) -> OrderBreak:
        """Put on record that it has grown, and return the record. Repeating it keeps the first answer."""
        this = self._this(topic_id, after)
        unconfirmed = and_(this, order_break.c.grown_at.is_(None))
        with transaction(self._engine, write=True) as connection:
            connection.execute(update(order_break).where(unconfirmed).values(grown_at=at, drained=drained))
            recorded = self._one(connection, this)
        if recorded is None:
            raise no_such_intent(topic_id, after)
        return recorded

    def of(self, topic: str) -> Sequence[OrderBreak]:
        """Return what is on record of a topic's name, oldest first, intents included."""
        columns = order_break.c
        query = select(order_break).where(columns.deployment == self._deployment, columns.topic == topic)
        return tuple(map(_record, self._read(query.order_by(columns.intended_at, columns.partitions))))

    def _this(self, topic_id: str, after: int) -> ColumnElement[bool]:
        columns = order_break.c
        ours = columns.deployment == self._deployment
        return and_(ours, columns.topic_id == topic_id, columns.partitions == after)

    def _one(self, connection: Connection, where: ColumnElement[bool]) -> OrderBreak | None:
        row = connection.execute(select(order_break).where(where)).one_or_none()
        return None if row is None else _record(row)


def _record(row: Row[Any]) -> OrderBreak:
    return OrderBreak(
        topic=row.topic,
        topic_id=row.topic_id,
        before=row.before,
        after=row.partitions,
        offsets={int(partition): offset for partition, offset in json.loads(row.offsets).items()},
        intended_at=row.intended_at,
        grown_at=row.grown_at,
        drained=row.drained,
    )
