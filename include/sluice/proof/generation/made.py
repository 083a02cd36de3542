"""A record that a proof makes, and what it is made to be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RecordFate(StrEnum):
    """What a record was made to be; the words are those of the outcomes of validation."""

    GOOD = "good"
    LATE = "late"
    QUARANTINED = "quarantined"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class MadeRecord:
    """A record before it is sent.

    Attributes:
        value: its bytes.
        fate: what validation must make of it.
        reason: for which it must be quarantined; empty of all others.
    """

    value: bytes
    fate: RecordFate = RecordFate.GOOD
    reason: str = ""


class UnmadeError(Exception):
    """Records of a topic cannot be made.

    Args:
        reason: why, as the end of a sentence that begins with the field, or with the topic.
        fix: what to do.
        field: which one it is; empty where it is not about one.
    """

    def __init__(self, reason: str, fix: str, field: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix
        self.field = field
