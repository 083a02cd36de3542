"""Faults: what is wrong in the specs, each with the line where a person mends it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sluice.contracts.breach import Loc
from sluice.errors import SpecError


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that is wrong; ordered by file, then line.

    Attributes:
        file: relative to the project, with forward slashes.
        line: counted from 1.
        where: dotted path of the value, such as `value.event_time`; empty for the whole file.
        message: what was found and why it is refused.
        fix: what to do; empty where the message leaves no doubt.
        column: counted from 1; 0 where the line says enough.
    """

    file: str
    line: int
    where: str
    message: str
    fix: str = ""
    column: int = 0

    def __str__(self) -> str:
        line = f"{self.line}:{self.column}" if self.column else f"{self.line}"
        place = f"{self.file}:{line}: " + (f"{self.where}: " if self.where else "")
        return f"{place}{self.message} Fix: {self.fix}" if self.fix else f"{place}{self.message}"


class SpecFaults(SpecError):  # noqa: N818 - the plural says that it carries all of them
    """Specs are wrong: all faults of all files at once."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(faults))
        count = f"{len(self.faults)} fault{'' if len(self.faults) == 1 else 's'}"
        super().__init__("\n".join([f"{count} in the specs:", *map(str, self.faults)]))


def dotted(loc: Loc) -> str:
    """Return the path as people write it: `value.fields.origin.one_of[2]`."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif "." in part:
            text += f'["{part}"]'
        else:
            text += f".{part}" if text else part
    return text


def position(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of a character, both counted from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
