"""Whether the columns that a transform returns are those that its outputs name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampType

from sluice.errors import SpecError
from sluice.spark.records.windows import refuse_other_windows
from sluice.specs.model.outputs import DeadLettersOutput, IntervalsOutput, LatestOutput, Output, RowsOutput, SinkOutput


def refuse_unwritable(rows: DataFrame, outputs: Iterable[Output]) -> None:
    """Make sure that the outputs can take the rows.

    Args:
        rows: what the transform returns: each output's keys, time column and declared columns; only the schema is read.
        outputs: those that take them.

    Raises:
        SpecError: they are no DataFrame, a declared column is not there, the time column is no timestamp, two columns
            differ in nothing but case, or an interval table gets other windows than those that its spec declares.
    """
    if not isinstance(rows, DataFrame):
        raise SpecError(f"the transform returns a {type(rows).__name__}, not a DataFrame.", fix="return the rows.")
    types = {field.name: field.dataType for field in rows.schema}
    returned = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema)
    for output in outputs:
        for key, column, example in _times(output):
            if not isinstance(types.get(column), TimestampType):
                raise SpecError(
                    f"output.{key} is {column!r}, and the transform returns no timestamp of that name; it returns "
                    f"{returned}.",
                    fix=f"add {example} under that name, or correct the spec.",
                )
        if absent := [column for column in _named(output) if column not in types]:
            raise SpecError(
                f"{_key(output)} names {', '.join(absent)}; the transform returns {returned}.",
                fix="make the names agree.",
            )
        if isinstance(output, IntervalsOutput):
            refuse_other_windows(rows, output)
        _refuse_condition(rows, output)
    names = [name.lower() for name in rows.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SpecError(f"the transform returns {', '.join(twice)} more than once: {returned}.", fix="rename one.")


def taken_by(rows: DataFrame, output: Output) -> DataFrame:
    """Return those of the transform's rows that an output takes."""
    where = None if isinstance(output, DeadLettersOutput) else output.where
    return rows if where is None else rows.where(where)


def _refuse_condition(rows: DataFrame, output: Output) -> None:
    try:
        taken_by(rows, output)
    except AnalysisException as error:
        why = str(error).partition("\n")[0].partition(" SQLSTATE:")[0]
        raise SpecError(
            f"the condition of the `{output.kind}` output does not fit what the transform returns: {why}",
            fix="correct its `where`.",
        ) from error


def _times(output: Output) -> Iterator[tuple[str, str, str]]:
    """Yield the keys of an output that name a column of times, the column, and what it may hold."""
    if isinstance(output, IntervalsOutput):
        yield "time_column", output.time_column, '`F.col("window.start")`'
        if output.since_column is not None:
            yield "since_column", output.since_column, '`F.col("session_window.start")`'


def _named(output: Output) -> tuple[str, ...]:
    """Return the columns that an output needs, besides a time column."""
    match output:
        case RowsOutput() | DeadLettersOutput() | SinkOutput():
            return ()
        case LatestOutput(newest_by=str(column)):
            return (*output.keys, column)
        case _:
            return output.keys


def _key(output: Output) -> str:
    return "output.keys" if isinstance(output, IntervalsOutput) else f"the `{output.kind}` output"
