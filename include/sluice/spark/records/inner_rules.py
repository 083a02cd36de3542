"""What the fields inside objects, arrays and maps may not be, as conditions on the columns that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.quality.reasons import Reason
from sluice.specs.model.model import FieldType, ValueField

Lift: TypeAlias = Callable[[Callable[[Column], Column]], Column]
"""Turns a condition on a field into one on the column around it: whether it holds for any of its entries."""


@dataclass(frozen=True)
class InnerField:
    """A field at any depth below a column.

    Attributes:
        where: its path in words, such as `items[].sku`.
        field: its declaration.
        lift: makes conditions on it conditions on records.
    """

    where: str
    field: ValueField
    lift: Lift


def inner_fields(name: str, field: ValueField) -> Iterator[InnerField]:
    """Yield the fields below one of a value's own, from the outermost."""
    yield from _below(name, field, lambda holds: holds(F.col(name)))


def missing(inner: InnerField) -> Column:
    """Whether a required field is absent or null where the object around it is not."""
    return inner.lift(lambda column: column.isNull())


def outside(inner: InnerField, earliest: datetime, latest: datetime) -> Iterator[tuple[Column, Reason, str]]:
    """Yield what a field's values may not be: the condition, the reason and the detail."""
    field, where, lift = inner.field, inner.where, inner.lift
    if field.type is FieldType.TIMESTAMP:
        beyond = lift(lambda at: ~((at >= F.lit(earliest)) & (at < F.lit(latest))))
        years = f"{where} is not in the years {earliest:%Y} to {latest.year - 1}"
        yield beyond, Reason.OUT_OF_RANGE, years
    low, high, listed = field.minimum, field.maximum, field.one_of
    if low is not None:
        least = bound_of(field, low)
        yield lift(lambda number: number < least), Reason.OUT_OF_RANGE, f"{where} is less than {low:g}"
    if high is not None:
        most = bound_of(field, high)
        yield lift(lambda number: number > most), Reason.OUT_OF_RANGE, f"{where} is more than {high:g}"
    if listed is not None:
        yield lift(lambda text: ~text.isin(*listed)), Reason.NOT_ALLOWED, f"{where} is not in its list"


def bound_of(field: ValueField, bound: float) -> Column:
    """Return the bound in the field's own type, so that comparing casts no column."""
    if field.type is FieldType.DECIMAL:
        return F.lit(Decimal(repr(bound)))
    whole = field.type in (FieldType.LONG, FieldType.INTEGER) and bound == int(bound)
    return F.lit(int(bound) if whole else bound)


def _below(where: str, field: ValueField, lift: Lift) -> Iterator[InnerField]:
    for behind, part in field.parts.items():
        inner = InnerField(f"{where}{behind}", part, _lifted(field, behind, lift))
        yield inner
        yield from _below(inner.where, part, inner.lift)


def _lifted(field: ValueField, behind: str, lift: Lift) -> Lift:
    """Return how a condition on a part becomes one on records. What is null has no parts."""
    if field.items is not None:
        return lambda holds: lift(lambda column: F.exists(column, holds))
    if field.values is not None:
        return lambda holds: lift(lambda column: F.exists(F.map_values(column), holds))
    name = behind.removeprefix(".")
    return lambda holds: lift(lambda column: column.isNotNull() & holds(column.getField(name)))
