"""What keeps a reader from reading what a writer wrote."""

from __future__ import annotations

from dataclasses import dataclass

Loc = tuple[str | int, ...]
"""A location in a document: keys and positions, from its top."""


@dataclass(frozen=True)
class Breach:
    """One thing that a reader's schema refuses, or would read as something else.

    Attributes:
        field: the path to it in a record, such as `order.lines[].price`; empty for the whole record.
        message: what the writer may have written, and what the reader takes.
        fix: what to do.
    """

    field: str
    message: str
    fix: str


class UnreadableSchemaError(Exception):
    """A schema is wrong, or cannot be compared. It is shown as a fault of its file, at the location in it."""

    def __init__(self, loc: Loc, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.loc, self.message, self.fix = loc, message, fix
