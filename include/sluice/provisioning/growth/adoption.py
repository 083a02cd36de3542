"""After a topic has grown: whether the streams that read it have begun with the new partitions, and come nearer. Pure.

A checkpoint names a partition once a batch with it is committed. Spark begins with a partition that it has not known at
the first record that the broker has, and stops if that is not the partition's first (`failOnDataLoss`): so a stream
that names it and runs on has read it from its start, unless it began only after the growth, where its spec or a reset
says. A stream comes nearer if it has less to read than at the growth, or all that there was then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from sluice.provisioning.plans.changes import PartitionIncrease
from sluice.provisioning.plans.plan import Plan
from sluice.streams.health.observation import Observation
from sluice.streams.life.launcher import DriverState
from sluice.wording import listed

FIX = (
    "read `sluice streams show` of what is named: a driver that is down comes back by itself or says why not, one that "
    "makes no progress is STALLED, and one that falls behind needs cores. Nothing is undone by this."
)


@dataclass(frozen=True)
class Growth:
    """A topic that has more partitions than before.

    Attributes:
        topic: its name.
        before: how many it had.
        after: how many it has.
        unread: how many records each stream had yet to read then; without those that could not be observed.
        ends: the end of each `topic/partition` then; {} if they could not be observed.
    """

    topic: str
    before: int
    after: int
    unread: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Read what `as_dict` returned."""
        return cls(**given)


def growths_of(plan: Plan) -> list[Growth]:
    """Return the topics that a plan gives partitions."""
    return [
        Growth(each.subject, each.detail.before, each.detail.after)
        for each in plan.changes
        if isinstance(each.detail, PartitionIncrease)
    ]


class GrowthAdoption(StrEnum):
    """How a stream has taken a growth."""

    READS = "reads"  # all new partitions, and it does not fall behind
    WAITS = "waits"
    RESTS = "rests"  # it is stopped, halted or was never started


@dataclass(frozen=True)
class Followed:
    """A stream after a growth.

    Attributes:
        topic: what has grown.
        stream: who reads it.
        state: how it has taken it.
        observed: what was observed, as a clause after the stream's name.
    """

    topic: str
    stream: str
    state: GrowthAdoption
    observed: str

    def __str__(self) -> str:
        """Return it as a sentence without an end."""
        return f"{self.topic}: {self.stream} {self.observed}"


def followed(growth: Growth, stream: str, seen: Observation, origin: Mapping[str, int] | None = None) -> Followed:
    """Judge one stream by one observation.

    Args:
        growth: what has happened.
        stream: its name; it reads the topic.
        seen: what was observed of it.
        origin: the first offset of each `topic/partition` that it knew when it began; None: not known.
    """
    state, clause = _judged(growth, stream, seen, origin or {})
    return Followed(growth.topic, stream, state, clause)


def _judged(growth: Growth, stream: str, seen: Observation, origin: Mapping[str, int]) -> tuple[GrowthAdoption, str]:
    unread = seen.lag_records
    if seen.driver is not None and seen.driver.state is not DriverState.RUNNING:
        return _not_running(seen, seen.driver.state)
    if seen.driver is None or seen.committed is None or unread is None:
        return GrowthAdoption.WAITS, f"could not be observed ({'; '.join(seen.notes) or 'for an unknown reason'})"
    new = [f"{growth.topic}/{partition}" for partition in range(growth.before, growth.after)]
    if missing := [partition for partition in new if partition not in seen.committed]:
        return GrowthAdoption.WAITS, f"has yet to begin with {listed(missing)}"
    before = growth.unread.get(stream)
    rest = f"{unread:,} records yet to read" if unread else "nothing yet to read"
    has_read = bool(growth.ends) and all(seen.committed.get(p, 0) >= end for p, end in growth.ends.items())
    if unread and before is not None and unread >= before and not has_read:
        return GrowthAdoption.WAITS, f"reads {listed(new)}, and has {rest}; it had {before:,}"
    past = [partition for partition in new if origin.get(partition, 0) > (seen.starts or {}).get(partition, 0)]
    if past:
        return (
            GrowthAdoption.READS,
            f"began after the growth, with {listed(past)} not at the start; it has {rest}",
        )
    had = f"; it had {before:,}" if unread and before is not None else ""
    return GrowthAdoption.READS, f"reads {listed(new)} from the start, and has {rest}{had}"


def _not_running(seen: Observation, state: DriverState) -> tuple[GrowthAdoption, str]:
    if seen.stop_requested or seen.halted or state is DriverState.ABSENT:
        state_now = "is halted" if seen.halted else "is stopped" if seen.stop_requested else "was never started"
        return GrowthAdoption.RESTS, f"{state_now}; it begins with the new partitions when it runs"
    return GrowthAdoption.WAITS, "is down, although it should run"
