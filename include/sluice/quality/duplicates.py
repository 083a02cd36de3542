"""Duplicates: records of a topic that carry the id of an event that another record has, too."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.topics.records import RecordPosition
from sluice.wording import ExplainedEnum


class Duplicate(ExplainedEnum):
    """What a further record of an event is."""

    RETRY = (
        "retry",
        "it has the id and the bytes of another record",
        "make the producer idempotent; `dropDuplicates()` in the transform removes it from the result",
    )
    CONFLICT = (
        "conflict",
        "it has the id of another record but other bytes, and either may be the right one",
        "find the two producers of one event, or add to `event_id` what distinguishes its versions",
    )


@dataclass(frozen=True)
class Repeated:
    """How many records are duplicates of a kind, and two that show it: of the first event that has any."""

    kind: Duplicate
    records: int
    first: RecordPosition
    other: RecordPosition


@dataclass(frozen=True)
class Duplicates:
    """What was found among the records that are good or late, over a whole raw table.

    Of an event with n records and v different values, v - 1 are conflicts and n - v are retries.

    Attributes:
        event_id: the fields that were compared.
        events: those that have more than one record.
        repeated: the kinds that occur.
    """

    event_id: tuple[str, ...]
    events: int
    repeated: tuple[Repeated, ...]
