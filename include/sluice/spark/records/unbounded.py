"""Expressions over all records that a transform is given, as Spark's plan shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame

from sluice.errors import SpecError
from sluice.specs.code.scope_rules import Unbounded, UnboundedExpression
from sluice.specs.code.unbounded import NUMBERING
from sluice.specs.model.outputs import IntervalsOutput

_Plan = Any
"""A node of Spark's plan, an expression or a sequence of them, in the JVM."""
_PANDAS = ("FlatMapGroupsInPandas", "FlatMapGroupsInArrow")


def refuse_unbounded(rows: DataFrame, records: Iterable[DataFrame], output: IntervalsOutput) -> None:
    """Make sure that no row depends on how many intervals one call of the transform is given.

    Args:
        rows: what the transform returns; only its plan is read.
        records: what it was given, of each source.
        output: the table.

    Raises:
        SpecError: they group, compare or choose among all records, and several intervals may be computed at once.
    """
    if output.called_per_interval:
        return
    leaves = [leaf for each in records for leaf in _nodes(_analyzed(each)) if not _list(leaf.children())]
    if found := next(_unbounded(_analyzed(rows), leaves), None):
        raise SpecError(f"the transform does not fit the table {output.table}: {found.message}", fix=found.fix)


def makes_rows_of_nothing(rows: DataFrame) -> bool:
    """Whether rows may be made where there are no records: one group of all of them is a row even if it is empty."""
    return any(_is_one_group(node) for node in _nodes(_analyzed(rows)))


def _analyzed(rows: DataFrame) -> _Plan:
    return rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - there is no other way to the plan


def _unbounded(plan: _Plan, records: list[_Plan]) -> Iterator[UnboundedExpression]:
    for node in _nodes(plan):
        found = list(_in_node(node))
        if found and any(leaf.sameResult(known) for leaf in _nodes(node) for known in records):
            yield from found


def _in_node(node: _Plan) -> Iterator[UnboundedExpression]:
    name = node.nodeName()
    if _is_one_group(node):
        made = node.functionExpr().toString() if name in _PANDAS else _text(node.aggregateExpressions())
        yield UnboundedExpression(f"groupBy().agg({made})", Unbounded.GROUP)
    elif name in ("GlobalLimit", "Offset", "Tail"):
        yield UnboundedExpression(node.simpleString(100).removeprefix("Global"), Unbounded.LIMIT)
    elif name == "Window" and all(part.foldable() for part in _list(node.partitionSpec())):
        for expression in _list(node.windowExpressions()):
            yield from _in_window(expression)


def _is_one_group(node: _Plan) -> bool:
    name = node.nodeName()
    if name == "Aggregate":
        return bool(node.groupingExpressions().isEmpty())
    return name in _PANDAS and bool(node.groupingAttributes().isEmpty())


def _in_window(named: _Plan) -> Iterator[UnboundedExpression]:
    """Yield a window function that no frame bounds; one that looks back over all rows may be bounded by its meaning."""
    window = named.child()
    frame, function = window.windowSpec().frameSpecification(), window.windowFunction()
    ends = [frame.lower().toString(), frame.upper().toString()]
    whole = all(end.startswith("unbounded") for end in ends)
    if whole or function.prettyName() in NUMBERING:
        yield UnboundedExpression(window.sql(), Unbounded.WINDOW)


def _nodes(plan: _Plan) -> Iterator[_Plan]:
    """Yield a plan and all plans below it, those of its subqueries among them."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [*_list(node.subqueries()), *_list(node.children())]


def _list(sequence: _Plan) -> list[_Plan]:
    return [sequence.apply(index) for index in range(sequence.size())]


def _text(expressions: _Plan) -> str:
    return ", ".join(each.sql() for each in _list(expressions))
