"""Declared patches: how the bytes of some records are to be read, where what was sent is not what was meant.

The raw table keeps what was sent. A patch is part of the spec, so stream, backfill and quarantine read the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from sluice.intervals.record_positions import RecordPositions
from sluice.specs.model.spec import Spec

_RANGE = re.compile(r"\d{1,18}(-\d{1,18})?")
_GROUP = re.compile(r"\\.|\$(\d)")


def _is_sound(offsets: int | str) -> int | str:
    if not _RANGE.fullmatch(str(offsets)):
        raise ValueError(f"{offsets!r} names no offsets; write one, such as 12, or the first and the last: 40-55")
    first, last = _ends(offsets)
    if first > last:
        raise ValueError(f"{offsets} ends before it begins")
    return offsets


Offsets = Annotated[int | str, AfterValidator(_is_sound), WithJsonSchema({"type": ["integer", "string"]})]
"""One offset, or the first and the last one with a dash between them."""


class Replacement(Spec):
    """Text in a value, and what is read instead."""

    pattern: str = Field(min_length=1)
    """A regular expression of Java and of Python alike; it is searched for in the value's bytes, everywhere."""
    by: str
    """`$1` is the first group of the pattern, and so on; a backslash makes the next character an ordinary one."""

    @field_validator("pattern")
    @classmethod
    def _is_an_expression(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return pattern

    @field_validator("by")
    @classmethod
    def _names_groups_that_are_there(cls, by: str, info: ValidationInfo) -> str:
        if "pattern" not in info.data:
            return by
        groups = re.compile(info.data["pattern"]).groups
        for match in _GROUP.finditer(by):
            if match[1] is not None and int(match[1]) > groups:
                raise ValueError(f"it uses ${match[1]}, and the pattern has {groups} group(s); write \\$ for a dollar")
        if re.search(r"(?<!\\)(?:\\\\)*\$(?!\d)", by) or re.search(r"(?<!\\)(?:\\\\)*\\$", by):
            raise ValueError(r"a dollar or a backslash stands alone in it; write \$ or \\ for the character itself")
        return by


class Patch(Spec):
    """Replacements in the values of some records."""

    why: str = Field(min_length=1)
    """What was wrong, for readers of the patch."""
    topic_id: str = Field(min_length=1)
    """Kafka's id of the topic: offsets of one that is created again are other records."""
    records: dict[Annotated[int, Field(ge=0)], tuple[Offsets, ...]] = Field(min_length=1)
    """Offsets, and ranges of them, for each partition."""
    replace: tuple[Replacement, ...] = Field(min_length=1)
    """One after the other. A value without the pattern stays as it is."""

    @field_validator("records")
    @classmethod
    def _has_offsets(cls, records: dict[int, tuple[int | str, ...]]) -> dict[int, tuple[int | str, ...]]:
        for partition, offsets in records.items():
            if not offsets:
                raise ValueError(f"partition {partition} has no offsets; name some, such as [12, 40-55]")
        return records

    @property
    def places(self) -> RecordPositions:
        """Which records."""
        return RecordPositions.joined(self._pieces())

    def _pieces(self) -> Iterator[tuple[str, int, tuple[int, int]]]:
        for partition, offsets in self.records.items():
            yield from ((self.topic_id, partition, _ends(each)) for each in offsets)


def _ends(offsets: int | str) -> tuple[int, int]:
    first, _, last = str(offsets).partition("-")
    return int(first), int(last or first)
