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
    """A schema is wrong, or says what cannot be compared; never shown as such, but as a fault of its file.

    Args:
        loc: where in the file.
        message: what was found, and why it is refused.
        fix: what to do.
    """

    def __init__(self, loc: Loc, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.loc, self.message, self.fix = loc, message, fix
