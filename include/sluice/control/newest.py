"""Queries for the newest rows of many units at once; each takes the units as the parameter `units`.

A query is built once per deployment: a watcher asks it again and again, and building costs more than asking.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, and_, bindparam, func, select

from sluice.control.tables import attempt, desired_state, verdict

MAX_UNITS = 500
"""Asked for in one query. SQLite takes 32,766 parameters, but a long transaction keeps its log from being cut short."""


@cache
def desired_states(deployment: str) -> Select[Any]:
    """Return the query for the latest desired state of each unit."""
    return _newest(desired_state, ("unit",), "id", deployment)


@cache
def verdicts(deployment: str) -> Select[Any]:
    """Return the query for the newest verdict of each stream of each unit, streams by name."""
    return _newest(verdict, ("unit", "stream"), "number", deployment).order_by(verdict.c.stream)


@cache
def attempts(deployment: str, back: int) -> Select[Any]:
    """Return the query for so many of the highest generations of each unit, highest first."""
    return _newest(attempt, ("unit",), "generation", deployment, back).order_by(
        attempt.c.unit, attempt.c.generation.desc()
    )


def _newest(table: Table, keys: tuple[str, ...], number: str, deployment: str, back: int = 1) -> Select[Any]:
    """Return a query for the rows with the highest number of each key, or with so many of the highest ones."""
    ours = and_(table.c.deployment == deployment, table.c.unit.in_(bindparam("units", expanding=True)))
    columns = [table.c[key] for key in keys]
    highest = select(*columns, func.max(table.c[number]).label("highest")).where(ours).group_by(*columns).subquery()
    same: list[ColumnElement[bool]] = [table.c[key] == highest.c[key] for key in keys]
    own, most = table.c[number], highest.c.highest
    this = and_(table.c.deployment == deployment, *same, own == most if back == 1 else own > most - back)
    return select(table).join(highest, this)
