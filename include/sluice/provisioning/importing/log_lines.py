"""A sample of lines of text: the pattern that they match, a well-known one of logs or one that is given. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sluice.errors import SpecError
from sluice.specs.model.spec import NAME_PATTERN
from sluice.topics.printable import printable_bytes
from sluice.values.line_pattern import LinePattern, line_pattern
from sluice.wording import counted, listed

_MOST_SHOWN, _SHOWN_BYTES = 5, 60
_QUOTED = r'[^"\\]*(?:\\.[^"\\]*)*'
"""Text in which a quote has a backslash before it, without alternatives that a long line would try again and again."""
_ACCESS = (
    r"(?<host>\S+) (?:-|(?<ident>\S+)) (?:-|(?<user>\S+)) \[(?<at>[^\]]+)\] "
    rf'"(?<request>{_QUOTED})" (?<status>\d{{3}}) (?:-|(?<size>\d+))'
)
_AGENT = rf' "(?:-|(?<referer>{_QUOTED}))" "(?:-|(?<user_agent>{_QUOTED}))"'
_SYSLOG = (
    r"<(?<priority>\d{1,3})>1 (?:-|(?<at>\S+)) (?:-|(?<host>\S+)) (?:-|(?<app>\S+)) (?:-|(?<process_id>\S+)) "
    r'(?:-|(?<message_id>\S+)) (?:-|(?<data>(?:\[[^\]"]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^\]"]*)*\])+))(?: (?<message>.*))?'
)
_AT = r"(?<at>\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}\S*)"
_OLD_SYSLOG = re.compile(r"(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ .*")
_LEVELS = frozenset(
    (
        *("trace", "debug", "verbose", "info", "information", "notice", "warn", "warning", "error", "err", "severe"),
        *("critical", "crit", "fatal", "alert", "emerg", "panic", "fine", "finer", "finest", "config"),
    )
)


@dataclass(frozen=True)
class KnownLog:
    """A form of logs.

    Attributes:
        title: what people call it.
        pattern: of a line.
        texts: the fields that are text whatever the sample has in them: the next user may have a name.
    """

    title: str
    pattern: str
    texts: frozenset[str] = frozenset()

    def read(self, line: str) -> dict[str, str] | None:
        """Return the fields of a line; None if it is of another form."""
        found = line_pattern(self.pattern).read(line)
        if found is None or found.get("level", "info").lower() not in _LEVELS:
            return None
        return found


_OF_ACCESS = frozenset({"host", "ident", "user", "request", "referer", "user_agent"})
_OF_SYSLOG = frozenset({"host", "app", "process_id", "message_id", "data", "message"})
_OF_LEVELS = frozenset({"thread", "level", "message"})
ALWAYS = frozenset({"host", "at", "status", "priority", "level"})
"""What a line of a known log has if each of the sample has it; what else it had may be a dash or empty in the next."""
KNOWN_LOGS = (
    KnownLog("the combined log format of web servers", _ACCESS + _AGENT, _OF_ACCESS),
    KnownLog("the common log format of web servers", _ACCESS, _OF_ACCESS),
    KnownLog("syslog (RFC 5424)", _SYSLOG, _OF_SYSLOG),
    KnownLog("lines of time, level and message", _AT + r" +(?<level>[A-Za-z]+):? +(?<message>.*)", _OF_LEVELS),
    KnownLog("lines of time, level and message", _AT + r" +\[(?<level>[A-Za-z]+) *\]:? +(?<message>.*)", _OF_LEVELS),
    KnownLog(
        "lines of time, thread, level and message",
        _AT + r" +\[(?<thread>[^\]]*)\] +(?<level>[A-Za-z]+) +(?<message>.*)",
        _OF_LEVELS,
    ),
)
"""In the order in which they are tried."""


@dataclass(frozen=True)
class LineSample:
    """Lines that all match one pattern.

    Attributes:
        pattern: as a spec has it.
        rows: the texts of each line by group; those that are empty or took no part are absent.
        texts: the groups that are text whatever the sample has in them.
        title: the form of the log in words; empty of a pattern that was given.
        notes: what a reader of the spec should know of the sample, in clauses.
    """

    pattern: str
    rows: tuple[dict[str, str], ...]
    texts: frozenset[str] = frozenset()
    title: str = ""
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of all groups, in their order."""
        return tuple(line_pattern(self.pattern).groups)

    def values(self, group: str) -> list[str]:
        """Return the texts that a group has, in the order of the lines."""
        return [row[group] for row in self.rows if group in row]


def read_log(lines: Sequence[str]) -> LineSample | None:
    """Return a sample in a well-known form; None if it has none.

    Raises:
        SpecError: at least half of the lines have one, and not all.
    """
    numbered = _numbered(lines)
    closest: tuple[int, KnownLog | None] = (0, None)
    for known in KNOWN_LOGS:
        rows = [known.read(line) for _, line in numbered]
        matching = [row for row in rows if row is not None]
        if numbered and len(matching) == len(numbered):
            return LineSample(known.pattern, tuple(matching), known.texts, known.title, _notes(lines, numbered))
        closest = max(closest, (len(matching), known), key=lambda each: each[0])
    count, known_log = closest
    if known_log is None or count * 2 < len(numbered):
        return None
    others = [(number, line) for number, line in numbered if known_log.read(line) is None]
    raise SpecError(
        f"{count:,} of {counted(len(numbered), 'line')} of the sample are {known_log.title}, and these are not: "
        f"{_shown(others)}.",
        fix="a record is one line: take other lines out of the sample (such as those of stack traces, which the "
        "producer has to write into one line), or pass a --pattern that all lines match.",
    )


def read_matching(lines: Sequence[str], pattern: str) -> LineSample:
    """Return a sample under a pattern that is given.

    Raises:
        SpecError: the pattern is none that a topic may have, or lines do not match it.
    """
    compiled = _checked(pattern)
    numbered = _numbered(lines)
    rows = [(number, line, compiled.read(line)) for number, line in numbered]
    others = [(number, line) for number, line, row in rows if row is None]
    if others or not rows:
        raise SpecError(
            f"{counted(len(others), 'line')} of {len(rows):,} of the sample do not match the pattern: {_shown(others)}."
            if rows
            else "the sample has only empty lines.",
            fix="correct the pattern, which a whole line has to match, or take these lines out of the sample.",
        )
    return LineSample(pattern, tuple(row for _, _, row in rows if row is not None), notes=_notes(lines, numbered))


def is_old_syslog(lines: Sequence[str]) -> bool:
    """Whether lines are of syslog before RFC 5424, whose times have no year."""
    numbered = _numbered(lines)
    return bool(numbered) and all(_OLD_SYSLOG.fullmatch(line) for _, line in numbered)


def _checked(pattern: str) -> LinePattern:
    try:
        compiled = line_pattern(pattern)
    except ValueError as error:
        raise SpecError(f"the pattern is refused: {error}.", fix="correct --pattern.") from error
    if wrong := [name for name in compiled.groups if re.fullmatch(NAME_PATTERN, name) is None]:
        raise SpecError(
            f"no field can have the name of these groups: {listed(wrong)}.",
            fix="name groups by lower-case letters, digits and underscores, a letter first.",
        )
    return compiled


def _numbered(lines: Sequence[str]) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _notes(lines: Sequence[str], numbered: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    empty = len(lines) - len(numbered)
    return (f"{counted(empty, 'empty line')} in the sample: a record without bytes is quarantined",) if empty else ()


def _shown(numbered: Sequence[tuple[int, str]]) -> str:
    quoted = [f"line {number} ({printable_bytes(line.encode(), _SHOWN_BYTES)})" for number, line in numbered]
    return listed(quoted, _MOST_SHOWN, "lines")
