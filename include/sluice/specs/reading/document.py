"""YAML into plain data, with the line of every value.

Specs are a small language on purpose: one mapping, text keys, no tags, no anchors. A plain word becomes a number, a
boolean or nothing only where YAML 1.2 and a reader agree on it; `no`, `12:30`, `010` and `2013-01-01` stay the text
that was written, and the model decides whether text is welcome.

The parser's events are read here, and no deeper than `MAX_DEPTH`: PyYAML's composer recurses in C, and a file of
opening brackets ends the process with a segmentation fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from sluice.contracts.breach import Loc
from sluice.specs.reading.faults import Fault, dotted

_INDENTED_BY_TAB = re.compile(r" *\t")
_KEY_WITHOUT_BLANK = re.compile(r"\s*[\w.-]+:[^\s:]")


MAX_BYTES = 1 << 20
MAX_DEPTH = 32

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NAMED: Mapping[type, str] = {list: "a list", str: "text"}
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,2})?")


@dataclass(frozen=True)
class Document:
    """One file, read.

    Attributes:
        file: the name to show, relative to the project.
        data: the mapping at the top; None where the file holds none that can be read.
        lines: the line of every key and list item.
        faults: what is wrong with it as YAML.
    """

    file: str
    data: Mapping[str, object] | None
    lines: Mapping[Loc, int] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    def line_of(self, loc: Loc) -> int:
        """Return the line of a value, or of its nearest parent that is written down."""
        for length in range(len(loc), 0, -1):
            if (line := self.lines.get(loc[:length])) is not None:
                return line
        return 1

    def fault(self, loc: Loc, message: str, fix: str = "") -> Fault:
        """Return a fault at a value of this document."""
        return Fault(self.file, self.line_of(loc), dotted(loc), message, fix)


Parse = Callable[[bytes, str], Document]
"""Reads the bytes of a file, named for people."""


def read_document(path: Path, file: str = "", parse: Parse | None = None) -> Document:
    """Read a file. Whatever is wrong with it becomes a fault of the document.

    Args:
        path: the file.
        file: the name to show; omitted: the path as given.
        parse: reads its bytes; omitted: `parse_document`.
    """
    name = file or path.as_posix()
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return _unreadable(name, 1, f"cannot be read: {error.strerror or error}.")
    return (parse or parse_document)(content, name)


def parse_document(content: bytes, file: str) -> Document:
    """Read the bytes of a file; `file` is the name to show."""
    if len(content) > MAX_BYTES:
        return _unreadable(file, 1, f"is larger than {MAX_BYTES // 1024} KiB, which no spec needs.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return _unreadable(file, line, f"holds a byte that is not UTF-8 (0x{content[error.start]:02x}).")
    try:
        return _Builder(file, text).document()
    except _UnreadableError as error:
        return _unreadable(file, error.line, error.message, error.fix)
    except yaml.YAMLError as error:
        return _unreadable(file, *_not_yaml(error, text))


class _UnreadableError(Exception):
    """Ends the reading: what follows cannot be understood."""

    def __init__(self, event: yaml.Event, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.line, self.message, self.fix = _line(event), message, fix


class _Builder:
    """Builds the data from the parser's events: one that opens a list or a mapping is read up to its end."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)
        self._lines: dict[Loc, int] = {}
        self._duplicates: list[Fault] = []

    def document(self) -> Document:
        """Read all of it.

        Raises:
            _UnreadableError: the document uses what specs do not have.
            yaml.YAMLError: it is not YAML.
        """
        root: object = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _UnreadableError(event, "a second document begins.", "write one spec per file.")
            elif isinstance(event, yaml.NodeEvent):
                root = self._value(event, ())
        if isinstance(root, dict):
            return Document(self._file, root, self._lines, tuple(self._duplicates))
        kind = "nothing" if root is None else _NAMED.get(type(root), "one value")
        return _unreadable(self._file, 1, f"a spec is a mapping of keys to values; found {kind}.")

    def _value(self, event: yaml.Event, loc: Loc) -> object:
        _refuse_decorations(event)
        if isinstance(event, yaml.ScalarEvent):
            return _plain(event.value) if event.implicit[0] else event.value
        if len(loc) == MAX_DEPTH:
            raise _UnreadableError(event, f"lists and mappings lie more than {MAX_DEPTH} deep.")
        return self._list(loc) if isinstance(event, yaml.SequenceStartEvent) else self._mapping(loc)

    def _list(self, loc: Loc) -> list[object]:
        items: list[object] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            place = (*loc, len(items))
            self._lines[place] = _line(event)
            items.append(self._value(event, place))
        return items

    def _mapping(self, loc: Loc) -> dict[str, object]:
        values: dict[str, object] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = _key(event)
            place = (*loc, key)
            if key in values:
                message = f"the key is written twice; the first time in line {self._lines[place]}."
                self._duplicates.append(Fault(self._file, _line(event), dotted(place), message, "keep one of the two."))
            else:
                self._lines[place] = _line(event)
            values[key] = self._value(next(self._events), place)
        return values


def _key(event: yaml.Event) -> str:
    """Return a key as it is written: `on` and `12:30` are keys like any other."""
    _refuse_decorations(event)
    if not isinstance(event, yaml.ScalarEvent):
        raise _UnreadableError(event, "a key that is itself a list or a mapping.", "write text before the colon.")
    return str(event.value)


def _plain(text: str) -> str | int | float | bool | None:
    """Return what an unquoted word means."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _refuse_decorations(event: yaml.Event) -> None:
    anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
    if isinstance(event, yaml.AliasEvent):
        raise _UnreadableError(event, f"*{anchor} is an alias.", "write the value out.")
    if anchor is not None:
        raise _UnreadableError(event, f"&{anchor} is an anchor.", "write the value out where it is needed.")
    if tag not in (None, "!"):
        raise _UnreadableError(event, f"the tag {tag} is not supported.", "quote what must be text; leave the tag out.")


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return 1 if mark is None else int(mark.line) + 1


def _unreadable(file: str, line: int, message: str, fix: str = "") -> Document:
    return Document(file, None, faults=(Fault(file, line, "", message, fix),))


def _not_yaml(error: yaml.YAMLError, text: str) -> tuple[int, str, str]:
    """Return the line to mend, what is wrong there, and what to do; the last is empty where it is unknown."""
    lines = text.splitlines()
    gave_up, began = _lines_of(error, text)
    problem = str(getattr(error, "problem", None) or "")
    context = str(getattr(error, "context", None) or "")
    if _INDENTED_BY_TAB.match(_at(lines, gave_up)):
        return gave_up, "a tab indents this line, and YAML indents by blanks.", "replace the tab by blanks."
    if "quoted scalar" in context and "end of" in problem:
        return began, "a quote is opened here and never closed.", "close it, or leave it out."
    if "simple key" in context and _KEY_WITHOUT_BLANK.match(_at(lines, began)):
        return (
            began,
            "a key ends with a colon and a blank, and here the blank is missing.",
            "put a blank after the colon.",
        )
    if problem == "mapping values are not allowed in this context":
        fix = "put text with a colon in it into quotes; or indent this line like the one above."
        return gave_up, "a second `key: value` begins inside of a value.", fix
    if "flow" in context and problem.startswith(("did not find expected", "expected")):
        return began, "a bracket or brace is opened here and not closed, or a comma is missing in it.", ""
    reason = ", ".join(part for part in (context, problem) if part) or str(getattr(error, "reason", error)).strip()
    return gave_up, f"is not YAML: {reason}.", ""


def _lines_of(error: yaml.YAMLError, text: str) -> tuple[int, int]:
    """Return the line where the parser gave up, and the one where what it was reading began."""
    if isinstance(error, yaml.MarkedYAMLError):
        problem, context = error.problem_mark or error.context_mark, error.context_mark or error.problem_mark
        return (1 if problem is None else int(problem.line) + 1), (1 if context is None else int(context.line) + 1)
    line = text.count("\n", 0, getattr(error, "position", 0)) + 1  # its reader tells a position only
    return line, line


def _at(lines: list[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""
