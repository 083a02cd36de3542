"""What a transform calls to go through the records of each key in order, with the state that it carries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sluice.errors import SpecError
from sluice.spark.keyed.calls import Calls, Function
from sluice.spark.keyed.in_batch import called_in_batch
from sluice.spark.keyed.in_stream import called_in_stream


def in_order(
    records: DataFrame,
    function: Function,
    *,
    by: str | Sequence[str],
    order: Sequence[str],
    state: DataFrame,
    rows: str,
) -> tuple[DataFrame, DataFrame]:
    """Call a function with the records of each key, and return its rows and the state that it leaves.

    Of a batch the records of one interval are given to one call. Of a stream each batch has a call of its own, which
    goes on with the state of the one before: records are in order within a batch only, and the rows are provisional.

    Args:
        records: what the transform is given, with the columns of `by` and `order`.
        function: takes the records of a key as an iterator of dicts, in order, and its state as a dict that it may
            change; yields rows as dicts. The state is what an interval before has left of the other columns of the
            carried table, and empty before the first record. A key whose state is empty at the end has none any more.
            Times are in UTC, with their zone.
        by: the columns of a key; the keys of the carried table.
        order: the columns that records are sorted by; together they tell any two records of a key apart.
        state: the carried table that the transform is given.
        rows: the columns of the rows, as in `"paid_at timestamp, card string, amount decimal(18, 2)"`.

    Returns:
        The rows, and the carried table as it is after these records.

    Raises:
        SpecError: a column is not there, or the table has no columns beside its key.
    """
    keys = (by,) if isinstance(by, str) else tuple(by)
    _refuse_unknown(records, state, keys, order)
    calls = Calls(function, keys, tuple(order), cast("StructType", StructType.fromDDL(rows)), state.schema)
    if records.isStreaming:
        return called_in_stream(records, calls), state
    return called_in_batch(records, state, calls)


def _refuse_unknown(records: DataFrame, state: DataFrame, keys: Sequence[str], order: Sequence[str]) -> None:
    """Make sure that records and carried table have the columns that they are called by."""
    if absent := [name for name in (*keys, *order) if name not in records.columns]:
        message = f"in_order is given no column {', '.join(absent)}; the records have {', '.join(records.columns)}."
        raise SpecError(message, fix="correct `by` or `order`.")
    if not set(keys) < set(state.columns):
        named, has = ", ".join(keys), ", ".join(state.columns)
        message = f"in_order needs a carried table with the keys {named} and another column; it has {has}."
        raise SpecError(message, fix="correct `carries` in the spec, or `by`.")
