"""Which files of a folder are complete and were not sent yet, and the cursor that says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import cast

from pydantic import JsonValue

FileMark = tuple[int, int]
"""Size in bytes, and the time of the last change in nanoseconds since 1970: a file of another mark is another file."""


@dataclass(frozen=True)
class FolderCursor:
    """How far a folder was read.

    Attributes:
        sent: the marks of the files that were sent, of those that were in the folder, by their names.
        file: the file that is being read; empty: none.
        mark: its mark.
        line: how many of its records were delivered.
        last: that were all.
    """

    sent: Mapping[str, JsonValue] = field(default_factory=dict)
    file: str = ""
    mark: FileMark = (0, 0)
    line: int = 0
    last: bool = True

    @classmethod
    def read(cls, cursor: JsonValue) -> FolderCursor:
        """Return what a manifest has; None is the beginning.

        Raises:
            ValueError: it is no cursor of a folder.
        """
        match cursor:
            case None:
                return cls()
            case {"sent": dict(sent), "file": str(file), "mark": mark, "line": int(line), "last": bool(last)}:
                return cls(sent, file, read_mark(mark), line, last)
            case _:
                raise ValueError("no cursor of a folder")

    def written(self) -> JsonValue:
        """Return it as a manifest has it. The marks are shared, not copied: there is one cursor for each record."""
        sent = cast("JsonValue", self.sent)
        return {"file": self.file, "line": self.line, "last": self.last, "mark": list(self.mark), "sent": sent}

    def finished(self) -> dict[str, JsonValue]:
        """Return the marks of the files that need not be read any more."""
        return {**self.sent, **({self.file: list(self.mark)} if self.file and self.last else {})}


class CompleteFiles:
    """Watches the files of a folder until they do not change any more."""

    def __init__(self, pattern: str, seconds: float) -> None:
        """Take note of what is complete.

        Args:
            pattern: of the names that are meant; hidden files never are.
            seconds: for how long a complete file has not changed; 0: it is complete when it is there.
        """
        self._pattern, self._seconds = pattern, seconds
        self._since: dict[str, tuple[FileMark, float]] = {}

    def meant(self, name: str) -> bool:
        """Whether a file of this name is to be sent."""
        return not name.startswith(".") and fnmatchcase(name, self._pattern)

    def complete(self, found: Mapping[str, FileMark], now: float) -> list[str]:
        """Return the complete files in the order in which they are sent: by the time of their last change, then name.

        Args:
            found: all files that are meant and were not sent, as they are now.
            now: monotonic seconds.
        """
        self._since = {
            name: before if (before := self._since.get(name)) is not None and before[0] == mark else (mark, now)
            for name, mark in found.items()
        }
        ready = [name for name, (_, since) in self._since.items() if now - since >= self._seconds]
        return sorted(ready, key=lambda name: (found[name][1], name))


def read_mark(pair: JsonValue) -> FileMark:
    """Return a mark as a manifest has it.

    Raises:
        ValueError: it is none.
    """
    match pair:
        case [int(size), int(modified)]:
            return size, modified
        case _:
            raise ValueError("no mark of a file")
