"""After a topic has grown: whether the streams that read it have begun with the new partitions, and come nearer. Pure.

A checkpoint names a partition once a batch with it is committed. Spark begins with a partition that it has not known at
the first record that the broker has, and stops if that is not the partition's first (`failOnDataLoss`): so a stream
that names it and runs on has read it from its start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from sluice.streams.launcher import DriverState
from sluice.streams.observation import Evidence

_MOST_NAMED = 8


@dataclass(frozen=True)
class Growth:
    """A topic that has more partitions than before.

    Attributes:
        topic: its name.
        before: how many it had.
        after: how many it has.
        unread: how many records each stream that reads it had yet to read then; without those where nobody could look.
    """

    topic: str
    before: int
    after: int
    unread: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"topic": self.topic, "before": self.before, "after": self.after, "unread": dict(self.unread)}

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Read what `as_dict` returned."""
        return cls(given["topic"], given["before"], given["after"], given["unread"])


class Following(StrEnum):
    """How a stream has taken a growth."""

    READS = "reads"  # all new partitions, and it does not fall behind
    WAITS = "waits"
    RESTS = "rests"  # it does not run: whoever starts it again sees to it


@dataclass(frozen=True)
class Followed:
    """A stream after a growth.

    Attributes:
        topic: what has grown.
        stream: who reads it.
        state: how it has taken it.
        said: what was seen, as a clause after the stream's name.
    """

    topic: str
    stream: str
    state: Following
    said: str

    def __str__(self) -> str:
        """Return it as a sentence without an end."""
        return f"{self.topic}: {self.stream} {self.said}"


def followed(growth: Growth, stream: str, seen: Evidence) -> Followed:
    """Judge one stream by one look.

    Args:
        growth: what has happened.
        stream: its name; it reads the topic.
        seen: the look.
    """
    if seen.driver is not None and seen.driver.state is not DriverState.RUNNING:
        wish = "is stopped" if seen.stop_wanted else "does not run"
        said = f"{wish}; it begins with the new partitions when it runs again"
        return Followed(growth.topic, stream, Following.RESTS, said)
    committed, unread = seen.committed, seen.lag_records
    if seen.driver is None or committed is None or unread is None:
        said = f"could not be looked at ({'; '.join(seen.notes) or 'nobody said why'})"
        return Followed(growth.topic, stream, Following.WAITS, said)
    new = range(growth.before, growth.after)
    missing = [str(partition) for partition in new if f"{growth.topic}/{partition}" not in committed]
    if missing:
        named = ", ".join(missing[:_MOST_NAMED]) + (" and more" if len(missing) > _MOST_NAMED else "")
        return Followed(growth.topic, stream, Following.WAITS, f"has yet to begin with the partitions {named}")
    before = growth.unread.get(stream)
    if unread and before is not None and unread >= before:
        said = f"reads all {growth.after} partitions, and has {unread:,} records yet to read; it had {before:,}"
        return Followed(growth.topic, stream, Following.WAITS, said)
    had = "" if before is None or not unread else f" of {before:,}"
    rest = f"{unread:,} records{had} yet to read" if unread else "nothing yet to read"
    said = f"reads the new partitions from their start, and has {rest}"
    return Followed(growth.topic, stream, Following.READS, said)
