"""YAML into plain data, with the line of every value.

Specs are a small language on purpose: one mapping, text keys, no tags, no anchors. A plain word becomes a number, a
boolean or nothing only where YAML 1.2 and a reader agree on it; `no`, `12:30`, `010` and `2013-01-01` stay the text
that was written, and the model decides whether text is welcome.

The parser's events are read with a stack of our own: PyYAML's composer recurses in C, and a file of opening brackets
ends the process with a segmentation fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from sluice.contracts.breach import Loc
from sluice.specs.reading.faults import Fault, dotted
from sluice.specs.reading.not_yaml import not_yaml

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
    builder = _Builder(file)
    try:
        for event in _events(text):
            builder.take(event)
    except _UnreadableError as error:
        return _unreadable(file, error.line, error.message, error.fix)
    except yaml.YAMLError as error:
        return _unreadable(file, *not_yaml(error, text))
    return builder.document()


class _UnreadableError(Exception):
    """Ends the reading: what follows cannot be understood."""

    def __init__(self, event: yaml.Event, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.line, self.message, self.fix = _line(event), message, fix


@dataclass
class _Frame:
    """A mapping or list that is still open."""

    container: dict[str, object] | list[object]
    loc: Loc
    key: str | None = None


class _Builder:
    """Builds the data from the parser's events, one after the other."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._root: object = None
        self._documents = 0
        self._open: list[_Frame] = []
        self._lines: dict[Loc, int] = {}
        self._duplicates: list[Fault] = []

    def take(self, event: yaml.Event) -> None:
        """Add one event.

        Raises:
            _UnreadableError: the document uses what specs do not have.
        """
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise _UnreadableError(event, "a second document begins.", "write one spec per file.")
            case yaml.AliasEvent():
                raise _UnreadableError(event, f"*{event.anchor} is an alias.", "write the value out.")
            case yaml.ScalarEvent():
                _refuse_decorations(event)
                self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                _refuse_decorations(event)
                self._start(event, {} if isinstance(event, yaml.MappingStartEvent) else [])
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
            case _:
                pass

    def document(self) -> Document:
        """Return what was built."""
        faults = tuple(self._duplicates)
        if isinstance(self._root, dict):
            return Document(self._file, self._root, self._lines, faults)
        found = "nothing" if self._root is None else _NAMED.get(type(self._root), "one value")
        return _unreadable(self._file, 1, f"a spec is a mapping of keys to values; found {found}.")

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        frame = self._open[-1] if self._open else None
        if frame is not None and isinstance(frame.container, dict) and frame.key is None:
            self._key(frame, event)
        else:
            self._put(event, _plain(event.value) if event.implicit[0] else event.value)

    def _key(self, frame: _Frame, event: yaml.ScalarEvent) -> None:
        """A key is the text as written: `on` and `12:30` are keys like any other."""
        frame.key = event.value
        loc = (*frame.loc, event.value)
        if event.value in frame.container:
            message = f"the key is written twice; the first time in line {self._lines[loc]}."
            self._duplicates.append(Fault(self._file, _line(event), dotted(loc), message, "keep one of the two."))
        else:
            self._lines[loc] = _line(event)

    def _start(self, event: yaml.Event, container: dict[str, object] | list[object]) -> None:
        frame = self._open[-1] if self._open else None
        if frame is not None and isinstance(frame.container, dict) and frame.key is None:
            raise _UnreadableError(event, "a key that is itself a list or a mapping.", "write text before the colon.")
        if len(self._open) == MAX_DEPTH:
            raise _UnreadableError(event, f"lists and mappings lie more than {MAX_DEPTH} deep.")
        self._open.append(_Frame(container, self._put(event, container)))

    def _put(self, event: yaml.Event, value: object) -> Loc:
        """Put a value into the innermost open container and return its place."""
        if not self._open:
            self._root = value
            return ()
        frame = self._open[-1]
        if isinstance(frame.container, list):
            loc: Loc = (*frame.loc, len(frame.container))
            self._lines[loc] = _line(event)
            frame.container.append(value)
            return loc
        key = frame.key or ""
        frame.container[key] = value
        frame.key = None
        return (*frame.loc, key)


def _events(text: str) -> Iterator[yaml.Event]:
    events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)
    return events


def _plain(text: str) -> str | int | float | bool | None:
    """Return what an unquoted word means."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _refuse_decorations(event: yaml.NodeEvent) -> None:
    if event.anchor is not None:
        raise _UnreadableError(event, f"&{event.anchor} is an anchor.", "write the value out where it is needed.")
    tag = getattr(event, "tag", None)
    if tag not in (None, "!"):
        raise _UnreadableError(event, f"the tag {tag} is not supported.", "quote what must be text; leave the tag out.")


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return 1 if mark is None else int(mark.line) + 1


def _unreadable(file: str, line: int, message: str, fix: str = "") -> Document:
    return Document(file, None, faults=(Fault(file, line, "", message, fix),))
