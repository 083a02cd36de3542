"""Calls of a function for each key of a stream: its state is Spark's, and goes on from batch to batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pandas import DataFrame as Frame
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sluice.spark.keyed.calls import Calls


def called_in_stream(records: DataFrame, calls: Calls) -> DataFrame:
    """Return the rows of a stream.

    Args:
        records: of a stream.
        calls: what is called.
    """
    return records.groupBy(*calls.by).transformWithState(
        statefulProcessor=_Keyed(calls), outputStructType=calls.rows, outputMode="Update", timeMode="None"
    )


class _Keyed(StatefulProcessor):
    """Keeps what a function remembers of each key."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def init(self, handle: StatefulProcessorHandle) -> None:
        """See Spark."""
        self._state = handle.getValueState("carried", self._calls.remembered)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ANN401, ARG002 - as Spark has it
        rows: Iterator[Frame] | Iterator[Row],
        timerValues: Any,  # noqa: ANN401, ARG002, N803 - as Spark has it
    ) -> Iterator[Row]:
        """See Spark."""
        names = self._calls.remembered.fieldNames()
        kept = self._state.get()  # None for a new key; to ask whether there is one is another round trip
        before = None if kept is None else _plain(dict(zip(names, kept, strict=True)))
        made, left = self._calls.call(
            [_plain(row.asDict(recursive=True)) for row in rows if isinstance(row, Row)], before
        )
        if left is None:
            self._state.clear()
        else:
            self._state.update(tuple(left[name] for name in names))
        columns = self._calls.rows.fieldNames()
        return iter([Row(**{name: row[name] for name in columns}) for row in made])

    def close(self) -> None:
        """See Spark."""


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in record.items()}


def _value(value: Any) -> Any:  # noqa: ANN401 - a value of any column
    """Return a value as a batch gives it: Spark gives times of this process's zone, and says no zone."""
    match value:
        case datetime(tzinfo=None):
            return value.astimezone(UTC)
        case Row():
            return _plain(value.asDict(recursive=True))
        case dict():
            return {key: _value(each) for key, each in value.items()}
        case list():
            return [_value(each) for each in value]
    return value
