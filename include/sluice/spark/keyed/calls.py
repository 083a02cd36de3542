"""One call of a function for one key: plain values in, rows and a state out, whatever engine brings the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import StructField, StructType

Record = Mapping[str, Any]
Function = Callable[[Iterator[Record], dict[str, Any]], Iterable[Record]]
"""Takes the records of a key in order, and its state, which it may change; returns rows."""


@dataclass(frozen=True)
class Calls:
    """What a function is called with.

    Attributes:
        function: the user's.
        by: the columns of a key.
        order: the columns that records are sorted by.
        rows: the columns of its rows.
        carried: the columns of the carried table, the key among them.
    """

    function: Function
    by: tuple[str, ...]
    order: tuple[str, ...]
    rows: StructType
    carried: StructType

    @property
    def remembered(self) -> StructType:
        """The columns of the carried table without its keys: what a state may hold."""
        return StructType(
            [StructField(field.name, field.dataType) for field in self.carried if field.name not in self.by]
        )

    def call(
        self, records: Iterable[Record], state: Record | None
    ) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Call the function for one key.

        Args:
            records: of the key, in any order.
            state: what was left of it; None before the first record.

        Returns:
            The rows, with all their columns, and the state that is left; None if it is empty.

        Raises:
            ValueError: a row or the state has a column that is not declared.
        """
        ordered = sorted(records, key=lambda record: [(record[name] is not None, record[name]) for name in self.order])
        left = {} if state is None else {name: value for name, value in state.items() if value is not None}
        rows = [_fitted(dict(row), self.rows, "row") for row in self.function(iter(ordered), left)]
        return rows, _fitted(left, self.remembered, "state") if left else None


def _fitted(values: dict[str, Any], declared: StructType, what: str) -> dict[str, Any]:
    names = declared.fieldNames()
    if unknown := sorted(values.keys() - set(names)):
        raise ValueError(f"the {what} has {', '.join(map(repr, unknown))}, and only {', '.join(names)} are declared")
    return {name: values.get(name) for name in names}
