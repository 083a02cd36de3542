"""The position of the record that each row was made of, carried through the plan of a transform.

A transform returns its own columns, and must not be asked to hand on ours. Where each record makes one row at most, the
plan can: every projection on the way lets the position pass beside what it was written for.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sluice.errors import SpecError
from sluice.specs.code.transforms import ManyRowsError

PARTITION, OFFSET = "_partition", "_offset"
"""The columns of `good_records` that are carried."""
_PASSING = frozenset(
    {
        *("Project", "Filter", "SubqueryAlias", "View", "ResolvedHint", "CollectMetrics"),
        *("EventTimeWatermark", "UpdateEventTimeWatermarkColumn"),
    }
)
"""Operators that make one row of a record, or none."""
_CHOOSING = frozenset({"LEFT SEMI", "LEFT ANTI"})
"""Joins that do so, whatever they find; others do so where they find one row at most."""


def with_positions(rows: DataFrame, *, python: bool) -> DataFrame:
    """Return a stream's rows with `_partition` (int) and `_offset` (long) of the record that each was made of.

    Args:
        rows: a streaming DataFrame over `good_records` of one topic; only its plan is read.
        python: whether functions of Python may run.

    Raises:
        ManyRowsError: an operator keeps state, or makes several rows of a record.
        SpecError: a function of Python runs that may not.
    """
    analyzed = rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark shows no plan
    if not python:
        _refuse_python_in(analyzed)
    spark = rows.sparkSession
    jvm: Any = spark._jvm  # noqa: SLF001 - the same
    plan, _ = _carried(analyzed, jvm, spark)
    made = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan)  # noqa: SLF001 - the same
    return DataFrame(made, spark)


def _carried(plan: Any, jvm: Any, spark: SparkSession) -> tuple[Any, list[Any]]:  # noqa: ANN401 - objects of the JVM
    """Return a plan that has the position in its output, and the position's attributes."""
    name, output = str(plan.nodeName()), _items(plan.output())
    own = [each for each in output if each.name() in {PARTITION, OFFSET}]
    if len(own) == len({PARTITION, OFFSET}):
        return plan, own  # what the transform is given; what made it is ours
    children = _items(plan.children())
    streaming = [each for each in children if each.isStreaming()]
    if (name not in _PASSING and name != "Join") or len(streaming) != 1:
        raise ManyRowsError(
            f"in real time each record makes one row at most, without a state, and the transform has an operator "
            f"{name!r}.",
            fix="leave it out, or take `lane: latency`.",
        )
    if name == "Join" and str(plan.joinType().sql()) not in _CHOOSING:
        _refuse_several(plan, children.index(streaming[0]), jvm, spark)
    carried, attributes = _carried(streaming[0], jvm, spark)
    passed = plan.withNewChildren(_sequence([carried if each.isStreaming() else each for each in children], jvm))
    has = {each.exprId() for each in _items(passed.output())}
    missing = [each for each in attributes if each.exprId() not in has]
    if missing:
        columns = _sequence([*_items(passed.projectList()), *missing], jvm)
        passed = jvm.org.apache.spark.sql.catalyst.plans.logical.Project(columns, carried)
    return passed, attributes


def _refuse_several(join: Any, streamed: int, jvm: Any, spark: SparkSession) -> None:  # noqa: ANN401 - the same
    """Raise if a record may find several rows of the static side: all of them would have the record's position.

    Args:
        join: of a stream (its child of the number `streamed`) with something static, which is read for it.
        streamed: 0 or 1.
        jvm: PySpark's.
        spark: the session.
    """
    found = jvm.org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys.unapply(join)
    side = 1 - streamed
    if found.isDefined():
        keys, static = _items(found.get().productElement(1 + side)), _items(join.children())[side]
        expressions = jvm.org.apache.spark.sql.catalyst.expressions
        none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
        nobody = _sequence([], jvm)
        aliases = [
            expressions.Alias(key, f"k{n}", expressions.NamedExpression.newExprId(), nobody, none, nobody)
            for n, key in enumerate(keys)
        ]
        chosen = jvm.org.apache.spark.sql.catalyst.plans.logical.Project(_sequence(aliases, jvm), static)
        made = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, chosen)  # noqa: SLF001 - the same
        rows = DataFrame(made, spark).dropna()  # null equals nothing
        if rows.groupBy(*rows.columns).count().where("count > 1").isEmpty():
            return
    condition = join.condition().get().sql() if join.condition().isDefined() else "no condition"
    raise ManyRowsError(
        f"in real time each record makes one row at most, and the transform joins it with several rows ({condition}).",
        fix="keep one row of each key in what it is joined with, or take `lane: latency`.",
    )


def _refuse_python_in(plan: Any) -> None:  # noqa: ANN401 - an object of the JVM
    for expression in _items(plan.expressions()):
        _refuse_python(expression)
    for child in _items(plan.children()):
        if child.isStreaming():
            _refuse_python_in(child)


def _refuse_python(expression: Any) -> None:  # noqa: ANN401 - an object of the JVM
    name = str(expression.nodeName())
    if "Python" in name:
        raise SpecError(
            "in real time no Python runs for each record, and the transform has a function of Python.",
            fix="write it with Spark's own functions, or take `lane: latency`.",
        )
    for child in _items(expression.children()):
        _refuse_python(child)


def _items(sequence: Any) -> list[Any]:  # noqa: ANN401 - an object of the JVM
    return [sequence.apply(number) for number in range(sequence.size())]


def _sequence(items: list[Any], jvm: Any) -> Any:  # noqa: ANN401 - an object of the JVM
    return jvm.PythonUtils.toSeq(items)
