"""Expressions over all records that a transform is given, found by reading the code.

Reading finds what is written out in the transform's own function. Spark's plan shows the rest before a record is read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from sluice.specs.code.modules import SPARK_FUNCTIONS, imported_names, origin_of, parse_module
from sluice.specs.code.scope_rules import Unbounded, UnboundedExpression

NUMBERING = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
"""Window functions that say where a row stands among all rows of its partition."""
_WINDOW = ("pyspark.sql.Window", "pyspark.sql.window.Window")
_GROUPING = ("groupBy", "groupby", "rollup", "cube", "groupingSets", "pivot")


def unbounded_expressions(path: Path, function: str) -> tuple[UnboundedExpression, ...]:
    """Return what a transform does with all records that a call is given, whatever their time; in order.

    Args:
        path: its module.
        function: its name.

    Raises:
        SpecFaults: the module is not Python.
    """
    tree = parse_module(path)
    definition = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function), None)
    if definition is None or not definition.args.args:
        return ()
    found = _Transform(definition, imported_names(tree, NUMBERING)).expressions()
    return tuple(sorted(set(found), key=lambda expression: (expression.line, expression.text)))


class _Transform:
    """A transform's function, with what its names stand for."""

    def __init__(self, definition: ast.FunctionDef, imported: dict[str, str]) -> None:
        self._definition = definition
        self._imported = imported
        self._records = {argument.arg for argument in definition.args.args}
        self._others = {argument.arg for argument in definition.args.kwonlyargs}

    def expressions(self) -> Iterator[UnboundedExpression]:
        for node in ast.walk(self._definition):
            method = node.func if isinstance(node, ast.Call) else None
            if isinstance(node, ast.Call) and isinstance(method, ast.Attribute) and self._is_records(method.value):
                yield from self._in_call(node, method)

    def _in_call(self, node: ast.Call, method: ast.Attribute) -> Iterator[UnboundedExpression]:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        grouping = method.attr in ("groupBy", "groupby") and not given
        if grouping or (method.attr == "agg" and not self._is_grouped(method.value)):
            yield _found(method.attr, node, Unbounded.GROUP)
        elif method.attr == "limit":
            yield _found(method.attr, node, Unbounded.LIMIT)
        for argument in given:
            for part in self._columns(argument):
                if self._is_unbounded_window(part):
                    yield UnboundedExpression(ast.unparse(part), Unbounded.WINDOW, part.lineno)

    def _columns(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> Iterator[ast.expr]:
        """Yield the parts of an argument, but nothing of other tables."""
        root = _root(node)
        if root in self._others or (root in self._assigned and not self._is_column(root)):
            return
        yield node
        if isinstance(node, ast.Name) and node.id in self._assigned and node.id not in seen:
            yield from self._columns(self._assigned[node.id][0], seen | {node.id})
        for child in ast.iter_child_nodes(node):
            part = child.value if isinstance(child, ast.keyword) else child
            if isinstance(part, ast.expr):
                yield from self._columns(part, seen)

    def _is_column(self, name: str) -> bool:
        """Whether a name is assigned once, and stands for no table."""
        values = self._assigned[name]
        return len(values) == 1 and _root(values[0]) not in {*self._records, *self._others, *self._assigned}

    def _is_unbounded_window(self, node: ast.expr) -> bool:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "over"):
            return False
        function = node.func.value.func if isinstance(node.func.value, ast.Call) else None
        owner, _, name = ("" if function is None else origin_of(function, self._imported) or "").rpartition(".")
        return owner in SPARK_FUNCTIONS and name in NUMBERING and bool(node.args) and self._is_open(node.args[0])

    def _is_open(self, window: ast.expr) -> bool:
        """Whether a window has no partition."""
        methods, seen = [], set[str]()
        while not (origin := origin_of(window, self._imported)):
            if isinstance(window, ast.Name) and window.id not in seen and len(self._values(window.id)) == 1:
                seen.add(window.id)
                (window,) = self._values(window.id)
            elif isinstance(window, ast.Call) and isinstance(window.func, ast.Attribute):
                methods.append(window.func.attr)
                window = window.func.value
            else:
                return False
        return origin in _WINDOW and "orderBy" in methods and "partitionBy" not in methods

    def _values(self, name: str) -> list[ast.expr]:
        return self._assigned.get(name, [])

    @cached_property
    def _assigned(self) -> dict[str, list[ast.expr]]:
        """What each name of the function is given, wherever that is; nothing of a name that is bound otherwise."""
        given: dict[str, list[ast.expr]] = {}
        plain: set[int] = set()
        for node in ast.walk(self._definition):
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                    given.setdefault(target.id, []).append(node.value)
                    plain.add(id(target))
        bound = (n for n in ast.walk(self._definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        otherwise = {name.id for name in bound if id(name) not in plain}
        return {name: values for name, values in given.items() if name not in otherwise}

    def _is_records(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is made of records by calls of methods, and of nothing else."""
        root = _root(node)
        if root is None or root in seen:
            return root is not None
        values = self._values(root)
        return (bool(values) or root in self._records) and all(self._is_records(v, seen | {root}) for v in values)

    def _is_grouped(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        if isinstance(node, ast.Name) and node.id not in seen:
            return any(self._is_grouped(value, seen | {node.id}) for value in self._values(node.id))
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GROUPING


def _root(node: ast.expr) -> str | None:
    """Return the name at the beginning of a chain of calls; None where there is none."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node.id if isinstance(node, ast.Name) else None


def _found(method: str, node: ast.Call, kind: Unbounded) -> UnboundedExpression:
    """Return a call of a method without the chain before it."""
    arguments = ", ".join(ast.unparse(part) for part in [*node.args, *node.keywords])
    return UnboundedExpression(f".{method}({arguments})", kind, node.end_lineno or node.lineno)
