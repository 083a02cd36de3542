"""Simulated records as an oracle reads them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
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


def simulator(name: str, project: Path) -> ModuleType:
    """Return a module of a project's simulators: it knows what it has injected."""
    spec = importlib.util.spec_from_file_location(name, project / "include" / "simulators" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
