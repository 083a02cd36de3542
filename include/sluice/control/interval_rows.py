"""How a row of the interval ledger stands in SQL. What is written comes back the same."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row

from sluice.intervals.alignment import Interval
from sluice.intervals.entries import Content
from sluice.intervals.ledger import LedgerRow, State, Verified, Written


def columns_of(row: LedgerRow) -> dict[str, Any]:
    """Return the values of the table `interval` for a row, without deployment and pipeline."""
    current, verified = row.current, row.verified
    return {
        "starts_at": row.interval.start,
        "ends_at": row.interval.end,
        "state": _settled_state(row).value,
        "owner": current and current.owner,
        "generation": current and current.generation,
        "version": current and current.version,
        "written_at": current and current.at,
        "offsets": current and json.dumps(dict(current.offsets), sort_keys=True),
        "topics": current and json.dumps(current.topics),
        "code": current and current.code,
        "rows": current and current.content.rows,
        "checksum": current and current.content.checksum,
        "late": current and current.late,
        "dirty": json.dumps(row.dirty),
        "verified_by": verified and verified.backfill,
        "verified_code": verified and verified.code,
        "verified_at": verified and verified.at,
        "base": row.base and _written().dump_json(row.base).decode(),
    }


def ledger_row(row: Row[Any], length: timedelta) -> LedgerRow:
    """Return the row of the ledger that stands in a row of the table `interval`.

    Args:
        row: of the table; several intervals that are alike and hold no rows stand in one.
        length: of an interval.
    """
    return LedgerRow(
        interval=Interval(row.starts_at, row.ends_at),
        base=None if row.base is None else _written().validate_json(row.base),
        current=_current(row),
        dirty=tuple(json.loads(row.dirty)),
        verified=None
        if row.verified_by is None
        else Verified(backfill=row.verified_by, code=row.verified_code, at=row.verified_at),
        count=(row.ends_at - row.starts_at) // length,
    )


def _current(row: Row[Any]) -> Written | None:
    if row.owner is None:
        return None
    return Written(
        owner=row.owner,
        generation=row.generation,
        version=row.version,
        at=row.written_at,
        offsets=json.loads(row.offsets),
        code=row.code,
        content=Content(row.rows, row.checksum),
        late=row.late,
        topics=tuple(json.loads(row.topics)),
    )


def _settled_state(row: LedgerRow) -> State:
    """Return the state as far as it does not depend on today's code."""
    if row.dirty:
        return State.DIRTY
    if row.current is None:
        return State.OPEN
    return State.PUBLISHED if row.current.generation is None else State.CLOSED


@cache
def _written() -> TypeAdapter[Written]:
    return TypeAdapter(Written)
