"""A regular expression for lines of text, in what Java and Python read alike. Pure.

`sluice check`, feeds and the decoder in the JVM have to agree on every line, so what the two dialects read differently
is refused: the decoder gets the expression without the names of its groups, and reads them by their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

NAMED_GROUP = re.compile(r"\(\?P?<([A-Za-z_][A-Za-z0-9_]*)>")
_REPEAT = re.compile(r"\{[0-9]{1,4}(,[0-9]{0,4})?\}")
_ESCAPES = frozenset("dDwWsStnrf")
_PLAIN_GROUPS = ("(?:", "(?=", "(?!")
_QUANTIFIERS = "*+?"


@dataclass(frozen=True)
class LinePattern:
    """An expression that a whole line has to match.

    Attributes:
        compiled: for Python.
        java: for Java, without names.
        groups: the number of each named group.
    """

    compiled: re.Pattern[str]
    java: str
    groups: Mapping[str, int]

    def read(self, line: str) -> dict[str, str] | None:
        """Return the texts of the groups, without those that are absent or empty; None if a line does not match."""
        match = self.compiled.fullmatch(line)
        return None if match is None else {name: text for name in self.groups if (text := match[name])}


@lru_cache(maxsize=256)
def line_pattern(text: str) -> LinePattern:
    """Return an expression with named groups.

    Raises:
        ValueError: it is none, or Java and Python would not read it alike, in words.
    """
    python, java, at = "", "", 0
    while at < len(text):
        if (named := NAMED_GROUP.match(text, at)) is not None:
            python += f"(?P<{named[1]}>"
            java += "("
            at = named.end()
            continue
        part = next_part(text, at)
        python, java, at = python + part, java + part, at + len(part)
    try:
        compiled = re.compile(python, re.ASCII)
    except re.error as error:
        raise ValueError(f"it is no regular expression: {error}") from error
    if not compiled.groupindex:
        raise ValueError("it has no named group, so no field; write (?<name>...) around each field")
    return LinePattern(compiled, java, dict(compiled.groupindex))


def next_part(text: str, at: int) -> str:
    """Return the next part of an expression, which both languages read alike: a character, class, escape, or mark.

    Raises:
        ValueError: they do not, in words.
    """
    character = text[at]
    if character == "\\":
        return _escape(text, at)
    if character == "[":
        return _characters(text, at)
    if text.startswith("(?", at):
        if not text.startswith(_PLAIN_GROUPS, at):
            raise ValueError(
                f"{text[at : at + 4]!r} is not read alike in Java and Python; write (?<name>...) or (?:...)"
            )
        return text[at : at + 3]
    if character == "{":
        repeat = _REPEAT.match(text, at)
        if repeat is None:
            raise ValueError("a { that repeats nothing is not read alike in Java and Python; write \\{")
        return _quantifier(text, at, repeat[0])
    return _quantifier(text, at, character) if character in _QUANTIFIERS else character


def _quantifier(text: str, at: int, quantifier: str) -> str:
    """Return how often something repeats; a question mark behind it (as few as possible) belongs to it."""
    behind = text[at + len(quantifier) : at + len(quantifier) + 1]
    if behind == "+":
        raise ValueError(f"{quantifier}+ (possessive) is not taken; write {quantifier}")
    return quantifier + ("?" if behind == "?" else "")


def _escape(text: str, at: int) -> str:
    escaped = text[at + 1 : at + 2]
    if escaped.isalnum() and escaped not in _ESCAPES:
        raise ValueError(f"\\{escaped} is not read alike in Java and Python; of letters there are \\d \\w \\s \\t \\n")
    if not escaped or not escaped.isascii():
        raise ValueError("a backslash stands before nothing that it could mean")
    return text[at : at + 2]


def _characters(text: str, at: int) -> str:
    """Return a class of characters; Java would read [, && and some others in it as more than themselves."""
    end = at + 2 if text.startswith("[^", at) else at + 1
    if text.startswith("]", end):
        raise ValueError("[] is not read alike in Java and Python; write \\] for the bracket itself")
    while end < len(text) and text[end] != "]":
        if text[end] == "[" or text.startswith(("&&", "--", "~~", "||"), end):
            shown = text[end] if text[end] == "[" else text[end : end + 2]
            raise ValueError(f"{shown} inside [...] is not read alike in Java and Python; write a backslash before it")
        end += len(_escape(text, end)) if text[end] == "\\" else 1
    if end >= len(text):
        raise ValueError("a [ is not closed")
    return text[at : end + 1]
