"""Finding a pipeline's transform: the same function object for stream and batch."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from threading import Lock
from typing import Any, cast

from pyspark.errors import AnalysisException
from pyspark.errors import utils as pyspark_errors
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sluice.errors import SpecError
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import CarriedTable
from sluice.specs.reading.faults import position

Inputs = Mapping[str, DataFrame]
"""DataFrames by the names under which a transform takes them."""

Transform = Callable[[Inputs, Inputs], Any]
"""Makes rows of the records of each source, and of static inputs and carried tables: what a person wrote returns what
it returns, see `call_carrying`."""

_PACKAGE = "transforms"
_VIEWS = Lock()
"""Names of views are the session's, and its streams analyse their plans at the same time."""
_PARSE_PLACE = re.compile(r"\(line (\d+), pos (\d+)\)")


def load_transform(pipeline: PipelineSpec) -> Transform:
    """Return what a pipeline's spec names below `spark_jobs/transforms/`, as it is now.

    Raises:
        SpecError: it is not there.
    """
    return _select(pipeline) if pipeline.is_sql else _function(pipeline.transform)


def _function(name: str) -> Transform:
    module, _, function = name.partition(":")
    try:
        target = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), function)
    except (ImportError, AttributeError) as error:
        raise SpecError(f"transform {name!r} cannot be loaded: {error}.", fix="run `sluice check`.") from error
    if not callable(target):
        raise SpecError(f"transform {name!r} is a {type(target).__name__}, not a function.")
    return FunctionTransform(target)


def _select(pipeline: PipelineSpec) -> Transform:
    try:
        text = files(_PACKAGE).joinpath(pipeline.transform).read_text(encoding="utf-8")
    except (ImportError, OSError, UnicodeDecodeError) as error:
        message = f"transform {pipeline.transform!r} cannot be loaded: {error}."
        raise SpecError(message, fix="run `sluice check`.") from error
    return SelectTransform(f"spark_jobs/{_PACKAGE}/{pipeline.transform}", text)


@dataclass(frozen=True)
class FunctionTransform:
    """A Python function as a transform. It takes the records of its one source first, those of several by name."""

    function: Callable[..., Any]

    def __call__(self, records: Inputs, static: Inputs) -> Any:  # noqa: ANN401  see `Transform`
        """Return what the function returns."""
        with _call_sites():
            if len(records) == 1:
                return self.function(*records.values(), **static)
            return self.function(**records, **static)


@contextmanager
def _call_sites() -> Iterator[None]:
    """Let PySpark note, in this block, in which line each column is made: an error at run time quotes it.

    It costs five calls to the JVM per column, and Sluice's own hundreds of columns go without (see the preset).
    """
    cache: Any = pyspark_errors  # PySpark asks the session once, and keeps the answer in a variable of this module
    cache._enable_debugging_cache = True  # noqa: SLF001
    try:
        yield
    finally:
        cache._enable_debugging_cache = None  # noqa: SLF001


@dataclass(frozen=True)
class SelectTransform:
    """A SELECT as a transform: the text runs as it is, over views with the names of its inputs.

    Attributes:
        file: the name that errors show.
        text: the SELECT.
    """

    file: str
    text: str

    def __call__(self, records: Inputs, static: Inputs) -> DataFrame:
        """Return the rows of the SELECT.

        Raises:
            SpecError: Spark refuses it; with line and column.
        """
        spark = next(iter(records.values())).sparkSession
        with _VIEWS:
            try:
                for name, rows in records.items():
                    rows.createOrReplaceTempView(name)
                for name, rows in static.items():
                    _view_in(spark, name, rows)
                return spark.sql(self.text)
            except AnalysisException as error:
                raise SpecError(self._message(error), fix="mend the SELECT.") from error
            finally:
                for name in (*records, *static):
                    spark.catalog.dropTempView(name)

    def _message(self, error: AnalysisException) -> str:
        text = str(error)
        if context := error.getQueryContext():
            line, column = position(self.text, context[0].startIndex())
        elif found := _PARSE_PLACE.search(text):
            line, column = int(found[1]), int(found[2]) + 1
        else:
            return f"{self.file}: {_first_line(text)}"
        return f"{self.file}:{line}:{column}: {_first_line(text)}"


def _view_in(spark: SparkSession, name: str, rows: DataFrame) -> None:
    """Make a view of rows that may be of another session: a batch of a stream has one of its own."""
    rows.createOrReplaceGlobalTempView(name)
    try:
        spark.table(f"global_temp.{name}").createOrReplaceTempView(name)
    finally:
        spark.catalog.dropGlobalTempView(name)


@dataclass(frozen=True)
class Called:
    """What one call of a transform returns.

    Attributes:
        rows: with the transform's own columns.
        after: what it leaves of each table that the pipeline carries, with the declared columns; nothing of a stream.
    """

    rows: DataFrame
    after: Inputs = field(default_factory=dict)


def call_carrying(
    pipeline: PipelineSpec, transform: Transform, records: Inputs, static: Inputs, *, states: Inputs
) -> Called:
    """Call the transform of a pipeline that carries tables.

    Args:
        pipeline: its spec.
        transform: its transform.
        records: of each source, by name.
        static: the static inputs.
        states: the carried tables as the interval before has left them; one that is missing is empty.

    Raises:
        SpecError: it does not return its rows and what it leaves of each table.
    """
    carries = pipeline.intervals.carries
    spark = next(iter(records.values())).sparkSession
    before = {n: states[n] if n in states else spark.createDataFrame([], table.ddl) for n, table in carries.items()}
    made = transform(records, {**static, **before})
    if not (isinstance(made, tuple) and len(made) == 1 + len(carries) and all(isinstance(m, DataFrame) for m in made)):
        raise SpecError(
            f"the transform {pipeline.transform!r} returns {_described(made)}, and the output carries "
            f"{', '.join(carries)}.",
            fix=f"`return rows, {', '.join(carries)}`: the rows, then what it leaves of each, in the spec's order.",
        )
    rows, *each = made
    left = dict(zip(carries, each, strict=True))
    if rows.isStreaming:
        _refuse_other_state(pipeline.name, left, before)
        return Called(rows)
    return Called(rows, {name: _left_of(name, carries[name], own) for name, own in left.items()})


def carried_schema(table: CarriedTable) -> StructType:
    """Return the declared columns of a carried table."""
    return cast("StructType", StructType.fromDDL(table.ddl))


def _refuse_other_state(pipeline: str, left: Inputs, given: Inputs) -> None:
    """Make sure that a stream's rows rest on no state but what Spark keeps for it: that of intervals is empty there."""
    for name, after in left.items():
        if after is not given[name]:
            raise SpecError(
                f"the transform of {pipeline} works out {name!r} with DataFrames, and a live output of it has no state "
                "of an interval before.",
                fix="use `sluice.spark.keyed.in_order`, which keeps a state live, too; or move the live output into a "
                "pipeline of its own.",
            )


def _left_of(name: str, table: CarriedTable, rows: DataFrame) -> DataFrame:
    """Return the declared columns of what a transform leaves of a carried table.

    Raises:
        SpecError: one is not there, or of another type.
    """
    wanted = carried_schema(table)
    returned = {column.name: column.dataType for column in rows.schema}
    for column in wanted:
        if column.name not in returned:
            found = ", ".join(f"{n} {kind.simpleString()}" for n, kind in returned.items())
            message = f"the transform leaves {name!r} without the column {column.name!r}; it has {found}."
            raise SpecError(message, fix=f"add it, or remove it from `carries.{name}.columns`.")
        own, declared = returned[column.name].simpleString(), column.dataType.simpleString()
        if own != declared:
            message = f"the transform leaves {name}.{column.name} as {own}, and {declared} is declared."
            raise SpecError(message, fix=f"cast it: `.cast({declared!r})`, or declare what it is.")
    return rows.select(*wanted.names)


def _described(made: object) -> str:
    return f"({', '.join(type(each).__name__ for each in made)})" if isinstance(made, tuple) else type(made).__name__


def _first_line(text: str) -> str:
    return _PARSE_PLACE.sub("", text.strip().partition("\n")[0].partition(" SQLSTATE:")[0]).strip()
