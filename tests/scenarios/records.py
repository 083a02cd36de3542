"""Simulated records as an oracle reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

Kinds = Mapping[str, tuple[type, ...]]
"""The types of each field that a record must have, as `json.loads` gives them."""


def on_time(
    values: Sequence[bytes], kinds: Kinds, *, event: str, arrival: str, lateness: timedelta, skew: timedelta
) -> Iterator[dict[str, Any]]:
    """Yield the sound records that are on time, with their two times as datetimes.

    Args:
        values: the bytes that were sent.
        kinds: what a record must have, besides its times.
        event: the field with the event time.
        arrival: the field with the arrival time.
        lateness: how far the arrival may lie behind the event.
        skew: how far it may lie before it.
    """
    for value in values:
        try:
            record = json.loads(value)
        except ValueError:
            continue
        if any(
            type(record.get(name)) not in (kind if isinstance(kind, tuple) else (kind,)) for name, kind in kinds.items()
        ):
            continue
        happened, known = (datetime.fromisoformat(record[name]) for name in (event, arrival))
        if -skew <= known - happened <= lateness:
            yield {**record, event: happened, arrival: known}
