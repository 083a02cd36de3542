"""The parts of a pattern of lines, and texts that match them: the same number always gives the same text.

A text is chosen as a number is written: each choice is a digit, so texts of different numbers differ as long as there
are choices left. What depends on what stands around it (look-ahead, word boundaries) is left to whoever compares the
result with the pattern.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from sluice.values.line_pattern import NAMED_GROUP, next_part

_POOL = string.ascii_lowercase + string.digits + string.ascii_uppercase + string.punctuation + " \t"
_MOST_CHOICES, _LENGTH = 36, 6
_REPEAT = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_UNBOUNDED = 1 << 30


@dataclass(frozen=True)
class OneCharacter:
    """Any character that an expression of one character matches, as far as it is in the pool."""

    text: str

    @cached_property
    def choices(self) -> str:
        """The characters, letters before others."""
        matching = re.compile(self.text, re.ASCII)
        return "".join(each for each in _POOL if matching.fullmatch(each))[:_MOST_CHOICES]


@dataclass(frozen=True)
class LineGroup:
    """A group: one of some sequences of parts.

    Attributes:
        name: of the field that it is; empty for none.
        text: what stands between its brackets.
        ways: the sequences.
    """

    name: str
    text: str
    ways: tuple[tuple[LinePart, ...], ...]


@dataclass(frozen=True)
class RepeatedPart:
    """A part that stands there at least and at most so many times."""

    part: LinePart
    least: int
    most: int


LinePart = OneCharacter | LineGroup | RepeatedPart


def parts_of(pattern: str) -> LineGroup:
    """Return the parts of a pattern that `line_pattern` takes, as a group without a name."""
    return _Parser(pattern).group("", 0)[0]


def names_in(part: LinePart) -> frozenset[str]:
    """Return the names of the groups in a part."""
    match part:
        case OneCharacter():
            return frozenset()
        case RepeatedPart(inner):
            return names_in(inner)
        case LineGroup(name, _, ways):
            inside = frozenset(name for way in ways for each in way for name in names_in(each))
            return inside | ({name} if name else set())


def avoidable(part: LinePart, name: str) -> bool:
    """Whether a line can be without a group."""
    if name not in names_in(part):
        return True
    match part:
        case RepeatedPart(inner, least):
            return least == 0 or avoidable(inner, name)
        case LineGroup(own, _, ways):
            return own != name and any(all(avoidable(each, name) for each in way) for way in ways)
        case OneCharacter():
            return True


def count_of(part: LinePart) -> int:
    """Return how many texts `text_of` has for a part."""
    match part:
        case OneCharacter():
            return len(part.choices)
        case RepeatedPart(inner):
            return min(_UNBOUNDED, prod(count_of(inner) for _ in range(_times(part))))
        case LineGroup(ways=ways):
            return min(_UNBOUNDED, prod(count_of(each) for each in ways[0]))


def text_of(part: LinePart, number: int) -> str:
    """Return the text with a number that a part matches."""
    return _chosen(part, number)[0]


def line_of(part: LinePart, texts: Mapping[str, str]) -> str:
    """Return a line that has these texts as its groups, and no other groups where that is possible."""
    match part:
        case OneCharacter():
            return text_of(part, 0)
        case RepeatedPart(inner, least, _):
            wanted = not names_in(inner).isdisjoint(texts)
            return line_of(inner, texts) * max(least, 1 if wanted else 0)
        case LineGroup(name, _, ways):
            if name in texts:
                return texts[name]
            # The way with the most of the groups that are wanted, among those without any other.
            way = max(ways, key=lambda each: _fitness(each, texts))
            return "".join(line_of(each, texts) for each in way)


def _fitness(way: tuple[LinePart, ...], texts: Mapping[str, str]) -> tuple[bool, int]:
    names = frozenset(name for each in way for name in names_in(each))
    unwanted = any(not avoidable(each, name) for each in way for name in names_in(each) - texts.keys())
    return not unwanted, len(names & texts.keys())


def _times(part: RepeatedPart) -> int:
    return max(part.least, min(part.most, _LENGTH))


def _chosen(part: LinePart, number: int) -> tuple[str, int]:
    """Return a text, and what is left of the number."""
    match part:
        case OneCharacter():
            if not part.choices:
                return "", number
            number, digit = divmod(number, len(part.choices))
            return part.choices[digit], number
        case RepeatedPart(inner):
            sequence: tuple[LinePart, ...] = (inner,) * _times(part)
        case LineGroup(ways=ways):
            sequence = ways[0]
    text = ""
    for each in sequence:
        more, number = _chosen(each, number)
        text += more
    return text, number


class _Parser:
    """Reads a pattern; `line_pattern` has refused what is not known here."""

    def __init__(self, text: str) -> None:
        self._text = text

    def group(self, name: str, at: int) -> tuple[LineGroup, int]:
        """Return a group up to its closing bracket or the end, and the place there."""
        start = at
        ways: list[list[LinePart]] = [[]]
        while at < len(self._text) and self._text[at] != ")":
            if self._text[at] == "|":
                ways.append([])
                at += 1
                continue
            part, at = self._part(at)
            if part is not None:
                part, at = self._repeated(part, at)
                ways[-1].append(part)
        return LineGroup(name, self._text[start:at], tuple(map(tuple, ways))), at

    def _part(self, at: int) -> tuple[LinePart | None, int]:
        text = self._text
        if text[at] in "^$":
            return None, at + 1
        if text.startswith(("(?=", "(?!"), at):
            return None, self.group("", at + 3)[1] + 1
        if text[at] == "(":
            named = NAMED_GROUP.match(text, at)
            begin = named.end() if named else at + (3 if text.startswith("(?:", at) else 1)
            group, end = self.group(named[1] if named else "", begin)
            return group, end + 1
        one = next_part(text, at)
        return OneCharacter(one if one[0] in "\\[." else re.escape(one)), at + len(one)

    def _repeated(self, part: LinePart, at: int) -> tuple[LinePart, int]:
        mark = self._text[at : at + 1]
        if mark and mark in "*+?":
            least, most, at = int(mark == "+"), 1 if mark == "?" else _UNBOUNDED, at + 1
        elif (found := _REPEAT.match(self._text, at)) is not None:
            least = int(found[1])
            most, at = (int(found[3]) if found[3] else _UNBOUNDED if found[2] else least), found.end()
        else:
            return part, at
        if self._text[at : at + 1] == "?":  # as few as possible
            at += 1
        return RepeatedPart(part, least, most), at
