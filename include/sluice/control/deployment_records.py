"""What the records of one deployment have in common: its rows in the control database, read in short transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Engine, Executable, Row

from sluice.control.database import transaction
from sluice.control.newest import MAX_UNITS


class DeploymentRecords:
    """Records of one deployment in the control database. Safe from several processes at once."""

    def __init__(self, engine: Engine, deployment: str) -> None:
        self._engine = engine
        self._deployment = deployment

    def _read(self, query: Executable, parameters: Mapping[str, Any] | None = None) -> Sequence[Row[Any]]:
        with transaction(self._engine) as connection:
            return connection.execute(query, parameters).all()

    def _read_units(self, query: Executable, units: Collection[str]) -> Iterator[Row[Any]]:
        """Yield the rows of a query with the parameter `units`, asked in parts that a database takes."""
        left = iter(units)
        while some := list(islice(left, MAX_UNITS)):
            yield from self._read(query, {"units": some})
