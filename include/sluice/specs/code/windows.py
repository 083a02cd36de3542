"""The windows of a transform, found by reading the code: an interval table needs those that its spec declares.

What closes and publishes counts on windows that tumble and begin every `window` from midnight UTC. Rows of longer ones
would be kept out where they close, and rows of shorter ones would close in batches that publish nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from sluice.specs.code.modules import SPARK_FUNCTIONS, imported_names, origin_of, parse_module
from sluice.specs.model.duration import format_duration, parse_duration
from sluice.specs.model.outputs import IntervalsOutput

_CALLS = ("window", "session_window")
_ARGUMENTS = ("timeColumn", "windowDuration", "slideDuration", "startTime")
_SQL = re.compile(
    r"(?<![.\w])(session_)?window\s*\(\s*[^,()]+\s*,\s*(?:interval\s*)?'([^']*)'"
    r"(?:\s*,\s*(?:interval\s*)?'([^']*)')?(?:\s*,\s*(?:interval\s*)?'([^']*)')?",
    re.IGNORECASE,
)
_TUMBLES = "an interval table takes windows that tumble and begin every {window} from midnight UTC"


@dataclass(frozen=True)
class WindowCall:
    """One call that makes windows.

    Attributes:
        file: the module.
        line: in it.
        session: whether they end when nothing happens for a while.
        length: None where reading the code does not tell.
        slide: from one start to the next; None where they tumble, or where that is not known.
        offset: of the starts from midnight UTC.
    """

    file: Path
    line: int
    session: bool = False
    length: timedelta | None = None
    slide: timedelta | None = None
    offset: timedelta | None = None


def unfit_windows(windows: Sequence[WindowCall], output: IntervalsOutput) -> Iterator[tuple[WindowCall, str, str]]:
    """Yield what an interval table cannot take: the call, why, and what to do.

    Args:
        windows: of the transform.
        output: the table.
    """
    declared = format_duration(output.window)
    rule = _TUMBLES.format(window=declared)
    for window in windows:
        if window.session:
            yield window, f"session_window makes windows without fixed bounds, and {rule}.", "use F.window."
        elif window.slide is not None and window.length is not None and window.slide != window.length:
            finding = f"its windows of {format_duration(window.length)} slide by {format_duration(window.slide)}"
            yield window, f"{finding}, and {rule}.", "leave the slide away, and sum windows up where the table is read."
        elif window.offset is not None and window.offset % output.window:
            finding = f"its windows begin {format_duration(window.offset)} after midnight UTC"
            yield window, f"{finding}, and {rule}.", "leave startTime away, or declare a `window` that divides it."
    lengths = {window.length for window in windows if not window.session}
    if None in lengths or not lengths or output.window in lengths:  # of several, the last one makes the rows
        return
    actual = " and ".join(sorted(format_duration(length) for length in lengths if length is not None))
    first = next(window for window in windows if not window.session)
    message = f"its windows are {actual} long, and the spec declares {declared}: the stream would lose rows."
    yield first, message, f"write `window: {actual}` under the output, or make windows of {declared}."


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
        if name == "session_window":
            yield WindowCall(self._path, node.lineno, session=True)
            return
        given = dict(zip(_ARGUMENTS, node.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        length, slide, offset = (self._length(given.get(name)) for name in _ARGUMENTS[1:])
        yield WindowCall(self._path, node.lineno, length=length, slide=slide, offset=offset)

    def _length(self, node: ast.expr | None) -> timedelta | None:
        if isinstance(node, ast.Name):
            node = self._constants.get(node.id)
        return _duration(node.value) if isinstance(node, ast.Constant) else None


def _windows_in_sql(path: Path, line: int, text: str) -> Iterator[WindowCall]:
    for match in _SQL.finditer(text):
        length, slide, offset = (_duration(part) for part in match.groups()[1:])
        yield WindowCall(path, line, session=bool(match[1]), length=length, slide=slide, offset=offset)


def _duration(text: object) -> timedelta | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError:  # Spark knows more forms
        return None


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
