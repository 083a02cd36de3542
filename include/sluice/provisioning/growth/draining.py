"""Drain, then grow: the way to give a keyed topic partitions without any stream reading a key out of order.

The producers pause; every stream reads to the end; the topic grows; the producers go on, and know the new partitions.
Foreign producers cannot be made to pause, so this is verified: the topic grows only when its ends have not moved for a
while, no open transaction holds records back behind them, and every stream's position has reached them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sluice.clock import Clock
from sluice.errors import RefusedError
from sluice.provisioning.growth.effects import GrowthEffects
from sluice.provisioning.growth.order_break import OrderBreak, OrderBreaks, grow_on_record
from sluice.provisioning.retention.cut import Position
from sluice.topics.administration import KafkaAdministration, TopicExtent
from sluice.wording import counted, listed

QUIET_SECONDS = 60.0
"""How long the ends must not move before the producers count as paused: longer than producers hold records back, with
their retries (`delivery.timeout.ms` may be longer; a record that comes later makes the growth one with a break)."""
_POLL_SECONDS = 5.0


class GrowthStep(StrEnum):
    """The kinds of steps."""

    PAUSE = "pause"
    DRAIN = "drain"
    GROW = "grow"
    RESUME = "resume"


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        action: what is done.
        what: how, as a sentence without an end.
        by_hand: whether an operator does it; otherwise it is done, or waited for, by Sluice.
    """

    action: GrowthStep
    what: str
    by_hand: bool = False


def drain_then_grow(effects: GrowthEffects) -> tuple[Step, ...]:
    """Return the steps by which a keyed topic grows without a break of order."""
    writers = " and ".join(effects.writers)
    known = f"{writers}, and every other producer" if writers else "its producers, which no spec names"
    streams = ", ".join(each.stream for each in effects.streams)
    reading = f"until {streams} have read all that it holds" if streams else "for no stream: none reads it"
    return (
        Step(GrowthStep.PAUSE, f"pause {known}", by_hand=True),
        Step(
            GrowthStep.DRAIN,
            f"wait until nothing has come into {effects.topic} for {QUIET_SECONDS:.0f} s, and {reading}",
        ),
        Step(GrowthStep.GROW, f"give {effects.topic} {effects.after} partitions instead of {effects.before}"),
        Step(
            GrowthStep.RESUME,
            f"restart {known}, so that all of them know the new partitions (or wait for `metadata.max.age.ms`, "
            "5 minutes by default, before they send)",
            by_hand=True,
        ),
    )


@dataclass(frozen=True)
class Undrained:
    """A stream that has yet to read some of a topic.

    Attributes:
        stream: its name.
        behind: unread records per partition, at most; None: it could not be read, or its position is beyond the end,
            so that it counts in another topic of this name.
    """

    stream: str
    behind: Mapping[int, int] | None

    def __str__(self) -> str:
        """Return it as a clause."""
        if self.behind is None:
            return f"how far {self.stream} has read is not known"
        where = listed([f"partition {p}" for p in sorted(self.behind)])
        return f"{self.stream} has yet to read {counted(sum(self.behind.values()), 'record')} of {where}"


def undrained(topic: str, extent: TopicExtent, committed: Mapping[str, Position]) -> tuple[Undrained, ...]:
    """Return the streams that have not read all that a topic holds; none: it is drained.

    The extent is asked after the positions. A partition that a position does not name was never read.
    """
    readers = [Undrained(stream, _behind(topic, extent, position)) for stream, position in sorted(committed.items())]
    return tuple(each for each in readers if each.behind is None or each.behind)


def _behind(topic: str, extent: TopicExtent, position: Position) -> Mapping[int, int] | None:
    if position is None:
        return None
    reached = {p: position.get(f"{topic}/{p}", extent.beginnings.get(p, 0)) for p in extent.ends}
    if any(reached[p] > end for p, end in extent.ends.items()):
        return None
    return {p: end - reached[p] for p, end in sorted(extent.ends.items()) if reached[p] < end}


@dataclass(frozen=True)
class Stillness:
    """Since when a topic's ends stand still.

    Attributes:
        ends: the end of each partition.
        since: when they were first seen so, in seconds of the clock of the observations.
        moved: the partitions into which records came between the last two observations.
    """

    ends: Mapping[int, int]
    since: float
    moved: tuple[int, ...] = ()

    def next(self, ends: Mapping[int, int], now: float) -> Stillness:
        """Return the same after another observation."""
        if ends == self.ends:
            return Stillness(self.ends, self.since)
        return Stillness(ends, now, tuple(sorted(p for p, end in ends.items() if end != self.ends.get(p))))


@dataclass(frozen=True)
class Readiness:
    """Whether a topic may grow without a break of order.

    Attributes:
        behind: the streams that have not read everything.
        still_for: for how many seconds nothing has come into it.
        quiet: for how many it must.
        moved: the partitions into which records came between the last two observations.
        held: how many records an open transaction holds back, of partitions that have one: they come when it ends.
    """

    behind: tuple[Undrained, ...]
    still_for: float
    quiet: float = QUIET_SECONDS
    moved: tuple[int, ...] = ()
    held: Mapping[int, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return not self.behind and not self.held and self.still_for >= self.quiet

    def __str__(self) -> str:
        """Return what it waits for, as clauses."""
        waits = [str(each) for each in self.behind]
        waits += [
            f"an open transaction holds {count:,} of partition {p} back" for p, count in sorted(self.held.items())
        ]
        if self.still_for < self.quiet:
            where = f" (partition {listed(self.moved)})" if self.moved else ""
            waits.append(f"records still came {self.still_for:.0f} s ago{where}")
        return "; ".join(waits) or "nothing: it is drained"


@dataclass(frozen=True)
class DrainedGrowth:
    """Waits until a topic is drained, and gives it partitions.

    Attributes:
        cluster: of the deployment.
        breaks: the record of growths.
        positions: returns the position of every stream that reads a topic: of each, also of those that do not run.
        clock: gives the time, and waits.
    """

    cluster: KafkaAdministration
    breaks: OrderBreaks
    positions: Callable[[str], Mapping[str, Position]]
    clock: Clock

    def run(
        self,
        topic: str,
        partitions: int,
        *,
        deadline_seconds: float,
        quiet_seconds: float = QUIET_SECONDS,
        assignment: Sequence[tuple[int, ...]] = (),
    ) -> OrderBreak | None:
        """Wait until the topic is drained, then let it grow. Killed anywhere, it may be run again.

        Args:
            topic: its name.
            partitions: how many it gets.
            deadline_seconds: how long to wait.
            quiet_seconds: how long nothing must have come into it.
            assignment: broker ids of each new partition; empty: the cluster decides.

        Returns:
            The record of the growth; it says whether the topic was drained to the last moment. None if the topic had so
            many partitions already, and it is not known since when.

        Raises:
            RefusedError: it was not drained in time (nothing was changed), there is no such topic, or the cluster
                refused.
            UnreachableError: the cluster or the control database did not answer.
        """
        state = self.cluster.describe([topic]).get(topic)
        ends = None
        if state is None or state.partitions < partitions:
            ends = self._drained_ends(topic, deadline_seconds, quiet_seconds)
        return grow_on_record(
            self.cluster, self.breaks, topic, partitions, self.clock, assignment=assignment, drained_at=ends
        )

    def _drained_ends(self, topic: str, deadline_seconds: float, quiet_seconds: float) -> Mapping[int, int]:
        until = self.clock.monotonic() + deadline_seconds
        still: Stillness | None = None
        while True:
            committed = self.positions(topic)  # first: an end that is asked later is no earlier than what was read
            extent, now = self.cluster.extent(topic), self.clock.monotonic()
            still = Stillness(extent.ends, now) if still is None else still.next(extent.ends, now)
            behind = undrained(topic, extent, committed)
            readiness = Readiness(behind, now - still.since, quiet_seconds, still.moved, extent.held)
            if readiness:
                return extent.ends
            if now >= until:
                raise RefusedError(
                    f"{topic} was not drained within {deadline_seconds:.0f} s, so it got no partitions: {readiness}.",
                    fix="pause its producers, see that its streams run (`sluice streams list`), then try again.",
                )
            self.clock.sleep(min(_POLL_SECONDS, max(0.0, until - now)))
