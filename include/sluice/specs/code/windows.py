"""The windows of a transform, found by reading the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from sluice.specs.code.modules import SPARK_FUNCTIONS, imported_names, origin_of, parse_module
from sluice.specs.code.window_rules import WindowCall, length_of

_CALLS = ("window", "session_window")
_ARGUMENTS = ("timeColumn", "windowDuration", "slideDuration", "startTime")
_SESSION_ARGUMENTS = ("timeColumn", "gapDuration")
_SQL = re.compile(
    r"(?<![.\w])(session_)?window\s*\(\s*[^,()]+\s*,\s*(?:interval\s*)?'([^']*)'"
    r"(?:\s*,\s*(?:interval\s*)?'([^']*)')?(?:\s*,\s*(?:interval\s*)?'([^']*)')?",
    re.IGNORECASE,
)


def windows_of(path: Path, function: str, roots: Sequence[Path]) -> tuple[WindowCall, ...]:
    """Return the windows that a function makes, by itself and by functions of the project that it names.

    Args:
        path: its module.
        function: its name.
        roots: folders from which modules of the project are imported.

    Raises:
        SpecFaults: a module is not Python.
    """
    walk = _Walk(roots)
    walk.follow(path, function)
    return tuple(sorted(walk.calls, key=lambda window: (window.file != path, window.file, window.line)))


@dataclass
class _Walk:
    roots: Sequence[Path]
    calls: list[WindowCall] = field(default_factory=list)
    seen: set[tuple[Path, str]] = field(default_factory=set)

    def follow(self, path: Path, name: str) -> None:
        if (path, name) in self.seen:
            return
        self.seen.add((path, name))
        module = _Module(path)
        if (body := module.functions.get(name)) is None:
            return
        for node in ast.walk(body):
            if isinstance(node, ast.Call):
                self.calls += module.windows_in_call(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.calls += _windows_in_sql(path, node.lineno, node.value)
            elif isinstance(node, ast.Name | ast.Attribute) and (used := module.origin(node)):
                self._follow_origin(path, used)

    def _follow_origin(self, path: Path, used: str) -> None:
        owner, _, name = used.rpartition(".")
        if not owner:
            self.follow(path, name)
            return
        files = (root.joinpath(*owner.split(".")).with_suffix(".py") for root in self.roots)
        if file := next((file for file in files if file.is_file()), None):
            self.follow(file, name)


class _Module:
    """What the names of a module stand for."""

    def __init__(self, path: Path) -> None:
        tree = parse_module(path)
        self._path = path
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self._constants = dict(_constants(tree))
        self._names = {name: name for name in self.functions} | imported_names(tree, _CALLS)

    def origin(self, node: ast.expr) -> str | None:
        """Return the full name of what is used; of the module itself, its bare name; None if it is neither."""
        return origin_of(node, self._names)

    def windows_in_call(self, node: ast.Call) -> Iterator[WindowCall]:
        owner, _, name = (self.origin(node.func) or "").rpartition(".")
        if owner not in SPARK_FUNCTIONS or name not in _CALLS:
            return
        session = name == "session_window"
        arguments = _SESSION_ARGUMENTS if session else _ARGUMENTS
        given = dict(zip(arguments, node.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        lengths = [self._length(given.get(name)) for name in arguments[1:]]
        yield _window(self._path, node.lineno, lengths, session=session)

    def _length(self, node: ast.expr | None) -> timedelta | None:
        if isinstance(node, ast.Name):
            node = self._constants.get(node.id)
        return length_of(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _windows_in_sql(path: Path, line: int, text: str) -> Iterator[WindowCall]:
    for match in _SQL.finditer(text):
        yield _window(path, line, [length_of(part) for part in match.groups()[1:]], session=bool(match[1]))


def _window(path: Path, line: int, lengths: Sequence[timedelta | None], *, session: bool) -> WindowCall:
    if session:
        return WindowCall(path, line, session=True, gap=lengths[0])
    length, slide, offset = lengths
    return WindowCall(path, line, length=length, slide=slide, offset=offset)


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
