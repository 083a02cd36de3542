"""Which tests declare which rows of the fault matrix, read from the tests' source: nothing is imported or run."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.matrix.rows import MATRIX

HOME = Path(__file__).parents[2]


def declarations(folder: Path | None = None) -> Mapping[str, list[str]]:
    """Return the tests of each row that is declared, as `file::test`.

    Args:
        folder: of the tests; omitted: this project's.
    """
    folder = folder or HOME / "tests"
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted(folder.rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if ".proves(" in text:
            for test, row in _declared_in(ast.parse(text)):
                found[row].append(f"{file.relative_to(folder.parent).as_posix()}::{test}")
    return {row: found[row] for row in [*MATRIX, *sorted(found.keys() - MATRIX.keys())] if row in found}


def _declared_in(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (test, row); a mark may also have a name of its own, and be given to some cases of a test."""
    named = {
        target.id: list(_rows_in(node.value))
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id != "pytestmark"
    }
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            rows = [row for decorator in node.decorator_list for row in _rows_in(decorator)]
            used = {name.id for each in node.decorator_list for name in ast.walk(each) if isinstance(name, ast.Name)}
            for row in dict.fromkeys([*rows, *(row for name in used for row in named.get(name, ()))]):
                yield node.name, row


def _rows_in(node: ast.expr) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "proves":
            yield from (str(each.value) for each in call.args if isinstance(each, ast.Constant))
