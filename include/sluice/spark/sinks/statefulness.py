"""Whether a streaming query keeps state, read from its plan before it starts."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

_STATELESS = frozenset(
    {
        *("Project", "Filter", "SubqueryAlias", "View", "Generate", "Union", "ResolvedHint", "CollectMetrics"),
        *("EventTimeWatermark", "UpdateEventTimeWatermarkColumn", "Repartition", "RepartitionByExpression"),
        *("MapInPandas", "MapInArrow", "ArrowEvalPython", "BatchEvalPython"),
        *("StreamingRelation", "StreamingRelationV2", "StreamingDataSourceV2Relation"),
    }
)
"""Operators that work record by record. Whatever is not named here counts as one that remembers."""


def state_in(rows: DataFrame) -> str | None:
    """Return the name of an operator by which a stream keeps state; None if it works record by record.

    Args:
        rows: a streaming DataFrame of any columns; only its plan is read.
    """
    return _state_below(rows._jdf.queryExecution().analyzed())  # noqa: SLF001 - PySpark shows no plan


def output_mode(rows: DataFrame, *, appended: bool) -> str:
    """Return in which of Spark's output modes a stream runs: `append` or `update`.

    Of a join of two streams a row never changes, and Spark takes no other mode.

    Args:
        rows: a streaming DataFrame of any columns; only its plan is read.
        appended: whether an output takes each row once.
    """
    return "append" if appended or _joins_streams(rows._jdf.queryExecution().analyzed()) else "update"  # noqa: SLF001


def _joins_streams(operator: Any) -> bool:  # noqa: ANN401 - an object of the JVM
    inputs = [operator.children().apply(number) for number in range(operator.children().size())]
    streams = sum(bool(each.isStreaming()) for each in inputs)
    return (operator.nodeName() == "Join" and streams > 1) or any(map(_joins_streams, inputs))


def _state_below(operator: Any) -> str | None:  # noqa: ANN401 - an object of the JVM
    if not operator.isStreaming():
        return None
    inputs = [operator.children().apply(number) for number in range(operator.children().size())]
    name = str(operator.nodeName())
    static_join = name == "Join" and sum(bool(each.isStreaming()) for each in inputs) == 1
    if name not in _STATELESS and not static_join:
        return name
    return next((stateful for each in inputs if (stateful := _state_below(each)) is not None), None)
