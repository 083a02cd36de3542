"""Whether DuckDB makes the rows of a transform in SQL that Spark makes of the same records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
from pyspark.sql import DataFrame

from sluice.delta.conditions import during
from sluice.delta.sql import query_memory
from sluice.errors import SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.convictions import Conviction
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.spark.records.transforms import SelectTransform
from sluice.spark.sinks.collected import brought
from sluice.specs.code.select import Select
from sluice.specs.code.select_in_duckdb import UntranslatableError, in_duckdb
from sluice.specs.model.outputs import IntervalsOutput
from sluice.specs.reading.faults import SpecFaults
from sluice.wording import counted

_CHOSEN = 8
"""Intervals of a chunk that it is asked about, spread over those that agree."""
_MOST_RECORDS = 500_000
_OUTGROWN = "outgrow the driver (spark.driver.maxResultSize)"
_SHOWN = 2


@dataclass(frozen=True)
class DuckDBCheck:
    """Lets DuckDB make rows, too.

    Attributes:
        transform: the SELECT, as Spark runs it.
        static: the static inputs by their names.
        output: the interval table.
    """

    transform: SelectTransform
    static: Mapping[str, DataFrame]
    output: IntervalsOutput

    def compare(
        self,
        intervals: Sequence[Interval],
        behind: Callable[[Interval], Mapping[str, DataFrame]],
        rows: Callable[[Sequence[Interval]], DataFrame],
    ) -> tuple[CrossCheck, dict[Interval, str]]:
        """Return what DuckDB says, and of which intervals it makes other rows: why, in words.

        Args:
            intervals: in which Spark's computation agrees with the table.
            behind: returns the good records that the rows of an interval are made of, by the sources' names.
            rows: returns the rows of some of them that Spark has made.
        """
        chosen = _spread(intervals, _CHOSEN)
        if not chosen:
            return CrossCheck(), {}
        try:
            query = in_duckdb(Select.of(self._text, self.transform.file))
        except (UntranslatableError, SpecFaults) as error:
            return CrossCheck(not_asked=str(error)), {}
        static, made = _brought(self.static), brought(rows(chosen))
        if static is None or made is None:
            return CrossCheck(not_asked=f"the rows or a static input {_OUTGROWN}"), {}
        found, asked = dict[Interval, str](), 0
        for interval in chosen:
            records = _brought({name: own.limit(_MOST_RECORDS + 1) for name, own in behind(interval).items()})
            if records is None or any(own.num_rows > _MOST_RECORDS for own in records.values()):
                why = f"an interval's records are more than {_MOST_RECORDS:,}, or {_OUTGROWN}"
                return CrossCheck(asked, len(found), why), found
            try:
                answer = self._answer(query, {**static, **records})
            except SpecError as error:
                return CrossCheck(asked, len(found), str(error)), found
            asked += 1
            own = during(self.output.time_column, interval)
            if why := difference(made.filter(own), answer.filter(own)):
                found[interval] = f"{Conviction.DUCKDB_DIFFERS.sentence}; {why}"
        return CrossCheck(asked, len(found)), found

    @property
    def _text(self) -> str:
        text = self.transform.text
        if self.output.where is None:
            return text
        made = text.rstrip().removesuffix(";")
        return f"SELECT * FROM (\n{made}\n) AS made WHERE {self.output.where}"  # noqa: S608 - the project's own text

    def _answer(self, query: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        answer = _named_as_declared(query_memory(query, tables), self.output.time_column)
        index = answer.schema.get_field_index(self.output.time_column)
        times = answer.column(index).cast(pa.timestamp("us", tz="UTC"))
        return answer.set_column(index, self.output.time_column, times)


def _brought(frames: Mapping[str, DataFrame]) -> dict[str, pa.Table] | None:
    """Return the rows of all frames; None if one outgrows the driver."""
    found: dict[str, pa.Table] = {}
    for name, frame in frames.items():
        if (table := brought(frame)) is None:
            return None
        found[name] = table
    return found


def _named_as_declared(answer: pa.Table, column: str) -> pa.Table:
    """Return an answer with a column under the name that the spec has for it: case makes no other column."""
    return answer.rename_columns([column if n.lower() == column.lower() else n for n in answer.schema.names])


def difference(spark: pa.Table, duck: pa.Table) -> str:
    """Return how two tables differ in their rows, in words; empty if they do not.

    Fractions are compared by nine digits, because sums of doubles depend on the order of their parts.

    Args:
        spark: rows; columns that the other table lacks are left out.
        duck: rows.
    """
    columns = [name for name in duck.schema.names if name in spark.schema.names]
    sides = [Counter(_rows(table.select(columns))) for table in (spark, duck)]
    parts = []
    for name, only in (("Spark", sides[0] - sides[1]), ("DuckDB", sides[1] - sides[0])):
        if only:
            shown = " and ".join(str(dict(zip(columns, row, strict=True))) for row in list(only)[:_SHOWN])
            parts.append(f"only {name} has {counted(sum(only.values()), 'row')} such as {shown}")
    return ", ".join(parts)


def _rows(table: pa.Table) -> Iterator[tuple[object, ...]]:
    return (tuple(_plain(value) for value in row.values()) for row in table.to_pylist())


def _plain(value: object) -> object:
    """Return a value in the form in which both engines' are the same, and can be counted."""
    match value:
        case bool() | None | str() | bytes():
            return value
        case int() | Decimal() if value == int(value):
            return str(int(value))
        case int() | float() | Decimal():
            nine = float(f"{value:.9g}")
            return str(int(nine)) if nine.is_integer() else str(nine)
        case datetime():
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
        case Mapping() | list() | tuple():
            return tuple(map(_plain, value.values() if isinstance(value, Mapping) else value))
    return str(value)


def _spread(intervals: Sequence[Interval], most: int) -> list[Interval]:
    """Return so many intervals at most, the first and the last among them."""
    if len(intervals) <= most:
        return list(intervals)
    return [intervals[number * (len(intervals) - 1) // (most - 1)] for number in range(most)]
