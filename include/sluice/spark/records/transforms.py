"""Finding a pipeline's transform: the same function object for stream and batch."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from threading import Lock

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from sluice.errors import SpecError
from sluice.specs.model.model import PipelineSpec
from sluice.specs.reading.faults import position

Inputs = Mapping[str, DataFrame]
"""DataFrames by the names under which a transform takes them."""

Transform = Callable[[Inputs, Inputs], DataFrame]
"""Makes rows of the records of each source, and of static inputs."""

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

    function: Callable[..., DataFrame]

    def __call__(self, records: Inputs, static: Inputs) -> DataFrame:
        """Return what the function returns."""
        if len(records) == 1:
            return self.function(*records.values(), **static)
        return self.function(**records, **static)


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


def _first_line(text: str) -> str:
    return _PARSE_PLACE.sub("", text.strip().partition("\n")[0].partition(" SQLSTATE:")[0]).strip()
