"""Where the order of keys breaks when a topic grows: the end of each old partition at that moment, kept for later.

Up to that offset all records of a key are in one partition. What follows of a key that has moved is in another one,
and a stream that reads both may read it before what waits in the old one. Producers learn of new partitions from their
metadata, minutes later: until then some records of moved keys still come into the old partition. So the offset says
where the break begins, never where it is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sluice.clock import Clock
from sluice.errors import CorruptionError, RefusedError
from sluice.topics.administration import KafkaAdministration, TopicExtent, TopicState
from sluice.wording import listed


@dataclass(frozen=True)
class OrderBreak:
    """One growth of a keyed topic.

    Attributes:
        topic: its name.
        topic_id: the cluster's UUID, in which the offsets count.
        before: how many partitions it had.
        after: how many it got; a topic gets so many only once.
        offsets: the end of each old partition just before it grew: no earlier record is out of order.
        intended_at: when that was put on record, before it grew (UTC).
        grown_at: when it had grown (UTC); None: not observed, so it has not, or the process died meanwhile.
        drained: whether every stream had read all of the old partitions, and nothing was written since, so that no
            stream reads a key out of order; None while `grown_at` is.
    """

    topic: str
    topic_id: str
    before: int
    after: int
    offsets: Mapping[int, int]
    intended_at: datetime
    grown_at: datetime | None = None
    drained: bool | None = None

    def __str__(self) -> str:
        """Return it as a sentence without an end."""
        when = self.intended_at if self.grown_at is None else self.grown_at
        grown = f"{self.topic} grew from {self.before} to {self.after} partitions at {when:%Y-%m-%dT%H:%M:%SZ}"
        if self.drained:
            return f"{grown}, when all streams had read everything: the order of its keys holds for them"
        return f"{grown}; records of a key may be out of order from {at_offsets(self.topic, self.offsets)}"


class OrderBreaks(Protocol):
    """The record of growths in the control database. Every method may raise UnreachableError."""

    def intend(self, found: OrderBreak) -> None:
        """Put on record that a topic is about to grow, instead of an earlier intent of the same growth.

        Raises:
            RefusedError: it is on record that it has grown so already.
        """
        ...

    def confirm(self, topic_id: str, after: int, *, at: datetime, drained: bool) -> OrderBreak:
        """Put on record that it has grown, and return the record. Repeating it keeps the first answer.

        Raises:
            CorruptionError: no such intent is on record.
        """
        ...

    def of(self, topic: str) -> Sequence[OrderBreak]:
        """Return what is on record of a topic's name, oldest first, intents included."""
        ...


def at_offsets(topic: str, offsets: Mapping[int, int]) -> str:
    """Return offsets as a list for people, shortened."""
    return listed([f"{topic}/{p} at {offset:,}" for p, offset in sorted(offsets.items())], noun="partitions")


def forecast(topic: str, extent: TopicExtent) -> str:
    """Return where the order would break if the topic grew now, as a clause."""
    return f"if it grew now, the order of its keys would break at {at_offsets(topic, extent.ends)}"


def grow_on_record(
    cluster: KafkaAdministration,
    breaks: OrderBreaks,
    topic: str,
    partitions: int,
    clock: Clock,
    *,
    assignment: Sequence[tuple[int, ...]] = (),
    drained_at: Mapping[int, int] | None = None,
) -> OrderBreak | None:
    """Give a keyed topic partitions, with the offsets where its order breaks on record before it grows.

    Killed anywhere, it may be run again: either the topic has not grown, and the intent is replaced; or it has, and the
    record is confirmed as it is, its offsets being no later than the break.

    Args:
        cluster: of the deployment.
        breaks: the record.
        topic: its name.
        partitions: how many it gets.
        clock: gives the time.
        assignment: broker ids of each new partition; empty: the cluster decides.
        drained_at: the ends that every stream had reached; None: not known. If they still are, it grew drained.

    Returns:
        The record; None if the topic had so many partitions already and they were given by something else.

    Raises:
        RefusedError: there is no such topic, it has more partitions, or the cluster refused.
        UnreachableError: cluster or control database did not answer.
    """
    state = _existing(cluster, topic)
    if state.partitions > partitions:
        raise RefusedError(
            f"{topic} has {state.partitions} partitions, and is to have {partitions}: Kafka takes none away.",
            fix=f"declare {state.partitions}, or a topic of another name.",
        )
    if state.partitions == partitions:
        return settle(breaks, state, clock)
    return _grown(cluster, breaks, state, partitions, clock, assignment=assignment, drained_at=drained_at)


def _grown(
    cluster: KafkaAdministration,
    breaks: OrderBreaks,
    state: TopicState,
    partitions: int,
    clock: Clock,
    *,
    assignment: Sequence[tuple[int, ...]],
    drained_at: Mapping[int, int] | None,
) -> OrderBreak:
    topic = state.name
    extent = cluster.extent(topic)
    ends = {p: extent.ends[p] for p in range(state.partitions)}
    breaks.intend(OrderBreak(topic, extent.topic_id, state.partitions, partitions, ends, clock.now()))
    cluster.grow(topic, partitions, assignment)
    after = cluster.extent(topic)
    if after.topic_id != extent.topic_id:
        raise CorruptionError(
            f"While {topic} grew, it was deleted and created again.", fix="find out who did that, then plan again."
        )
    # What an open transaction holds back is in no end yet, and of the old partitions all the same.
    drained = drained_at is not None and all(after.ends[p] == drained_at.get(p) and p not in after.held for p in ends)
    return breaks.confirm(extent.topic_id, partitions, at=clock.now(), drained=drained)


def settle(breaks: OrderBreaks, state: TopicState, clock: Clock) -> OrderBreak | None:
    """Return the record of the growth that gave a topic the partitions that it has; None if there is none.

    One that was not confirmed, because the process died meanwhile, is confirmed now: as one that was not drained, since
    that was not verified.
    """
    own = [each for each in breaks.of(state.name) if each.topic_id == state.topic_id]
    last = next((each for each in own if each.after == state.partitions), None)
    if last is None or last.grown_at is not None:
        return last
    return breaks.confirm(last.topic_id, last.after, at=clock.now(), drained=False)


def happened(breaks: Iterable[OrderBreak], state: TopicState) -> tuple[OrderBreak, ...]:
    """Return the growths that a topic has gone through, of those on record of its name, oldest first.

    An intent counts if the topic has exactly so many partitions now: it was cut off after the topic had grown.
    """
    own = [each for each in breaks if each.topic_id == state.topic_id]
    return tuple(each for each in own if each.grown_at is not None or each.after == state.partitions)


def _existing(cluster: KafkaAdministration, topic: str) -> TopicState:
    state = cluster.describe([topic]).get(topic)
    if state is None:
        raise RefusedError(f"The topic {topic!r} does not exist.", fix="run `sluice topics apply`.")
    return state


def grown_already(order_break: OrderBreak) -> RefusedError:
    """Return the error for a growth that is on record as done."""
    return RefusedError(
        f"{order_break.topic} has grown to {order_break.after} partitions already.",
        fix="check again: `sluice topics plan`.",
    )


def no_such_intent(topic_id: str, after: int) -> CorruptionError:
    """Return the error for a growth of which no intent is on record."""
    return CorruptionError(
        f"the control database has no growth of the topic {topic_id} to {after} partitions, which has just happened.",
        fix="see whether it was replaced by an older copy.",
    )
