"""How far the arrival times of a topic's records have come: the clock by which its intervals are complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

SPANS_KEPT = 100
"""How many spans a partition keeps that nothing has corroborated: the later ones only would move the clock further."""


@dataclass(frozen=True, order=True)
class ArrivalSpan:
    """Arrival times of one partition's records, each no further from the next than the longest advance.

    Attributes:
        first: the earliest (UTC).
        last: the latest.
        witnessed: another pipeline has settled up to there; or, in `ArrivalClocks.begun`, our own clock has borne it
            out, or a person.
    """

    first: datetime
    last: datetime
    witnessed: bool = False

    def is_near(self, other: ArrivalSpan, gap: timedelta) -> bool:
        """Whether no more than `gap` lies between the two."""
        return self.first - gap <= other.last and other.first - gap <= self.last


@dataclass(frozen=True)
class ArrivalClocks:
    """The clock of one topic, partition by partition.

    Attributes:
        accepted: the greatest arrival time per `topic/partition` that counts.
        unconfirmed: spans beyond an advance that nothing corroborates; they count for nothing.
        lead: how far the clock was ahead of our own at best, negative if behind: about zero for a live topic, minus
            years for an old one that is read again; None before the first.
        base: where the clock of the topic that was read before stood: what follows is measured against it, but it
            completes nothing.
        begun: the spans behind `accepted`, as long as nothing is settled by them: an earlier one may still show that
            the clock began with a record of the future.
    """

    accepted: Mapping[str, datetime] = field(default_factory=dict)
    unconfirmed: Mapping[str, tuple[ArrivalSpan, ...]] = field(default_factory=dict)
    lead: timedelta | None = None
    base: datetime | None = None
    begun: Mapping[str, tuple[ArrivalSpan, ...]] = field(default_factory=dict)

    @property
    def newest(self) -> datetime | None:
        """The greatest arrival time that counts in any partition; None before the first."""
        return max(self.accepted.values(), default=None)

    @property
    def measure(self) -> datetime | None:
        """The time that an advance is measured from; None if nothing was ever read."""
        return max((time for time in (self.newest, self.base) if time is not None), default=None)

    @property
    def lone(self) -> datetime | None:
        """The arrival time with which the clock began, if it rests on that one alone and nothing bears it out."""
        spans = [span for own in self.begun.values() for span in own]
        if len(spans) != 1 or self.base is not None:
            return None
        return spans[0].first if spans[0].first == spans[0].last and not spans[0].witnessed else None

    def not_begun(self) -> ArrivalClocks:
        """Return them with nothing borne out by which they began; for clocks by which nothing is settled."""
        waiting = {partition: (*own, *self.unconfirmed.get(partition, ())) for partition, own in self.begun.items()}
        return replace(self, accepted={}, begun={}, unconfirmed={**self.unconfirmed, **waiting})

    def withdrawn(self, until: datetime) -> ArrivalClocks:
        """Return them as if no record had arrived after `until`."""
        accepted = {partition: min(time, until) for partition, time in self.accepted.items()}
        base = None if self.base is None else min(self.base, until)
        return ArrivalClocks(accepted, _until(self.unconfirmed, until), None, base)

    def of_new_topic(self) -> ArrivalClocks:
        """Return the clocks of a topic that was created again: its partitions begin again."""
        return ArrivalClocks(lead=self.lead, base=self.measure)


def joined(spans: Iterable[ArrivalSpan], gap: timedelta) -> tuple[ArrivalSpan, ...]:
    """Return spans of one partition in order, those with no more than `gap` between them as one."""
    result: list[ArrivalSpan] = []
    for span in sorted(spans):
        if result and span.first - gap <= result[-1].last:
            before = result[-1]
            result[-1] = ArrivalSpan(before.first, max(before.last, span.last), before.witnessed or span.witnessed)
        else:
            result.append(span)
    return tuple(result)


def advanced(
    clocks: ArrivalClocks,
    seen: Mapping[str, Iterable[ArrivalSpan]],
    *,
    max_advance: timedelta,
    now: datetime,
    believed_until: datetime | None = None,
    settled: bool = True,
) -> ArrivalClocks:
    """Return the clocks after further records were read.

    An advance is the gap between one arrival time and the next: a backlog of a year advances by minutes, a record of
    next year by months. A long one counts if our own clock bears it out (the topic was that close before, or goes on
    at its pace), another pipeline's table or another partition makes the same advance, or a person has confirmed it.

    Args:
        clocks: as they stood.
        seen: the arrival times that were read since, per partition.
        max_advance: the longest advance that needs no other evidence.
        now: our own time (UTC).
        believed_until: arrival times up to here were confirmed by a person.
        settled: whether intervals were settled by these clocks. Until then they begin again with each call, from all
            that was ever seen, so that it does not matter which record was read first.
    """
    before: Mapping[str, Iterable[ArrivalSpan]] = clocks.unconfirmed
    if not settled:
        before = _joined(clocks.unconfirmed, clocks.begun, max_advance)
        clocks = ArrivalClocks(lead=None if clocks.base is None else clocks.lead, base=clocks.base)
    waiting = _joined(before, seen, max_advance)
    known = {partition: tuple(spans) for partition, spans in waiting.items()}
    limit = _borne_out(clocks, waiting, now, max_advance, believed_until) + max_advance
    live = _growing(before, waiting, now - max_advance)
    accepted = {**clocks.accepted}
    for partition, time in _accepted(waiting, limit, live, max_advance).items():
        accepted[partition] = max(time, accepted.get(partition, time))
    unconfirmed = {partition: tuple(spans[:SPANS_KEPT]) for partition, spans in waiting.items() if spans}
    confirmed = None if believed_until is None else believed_until + max_advance
    begun = {} if settled else _begun(known, waiting, live, confirmed)
    after = replace(clocks, accepted=accepted, unconfirmed=unconfirmed, begun=begun)
    return after if after.newest in (None, clocks.newest) else replace(after, lead=_lead(after, clocks, now))


def _borne_out(
    clocks: ArrivalClocks,
    waiting: Mapping[str, list[ArrivalSpan]],
    now: datetime,
    gap: timedelta,
    believed_until: datetime | None,
) -> datetime:
    """Return how far the clock may stand by itself, by our own clock, or by what a person has confirmed."""
    start = clocks.measure
    if start is None:  # no record was read before: the earliest is where the clock begins, unless it has yet to come
        firsts = (spans[0].first for spans in waiting.values() if spans)
        start = min((first for first in firsts if first <= now + gap), default=now)
    return max(start, believed_until or start, start if clocks.lead is None else now + clocks.lead)


def _lead(after: ArrivalClocks, before: ArrivalClocks, now: datetime) -> timedelta | None:
    leads = [after.newest - now] if after.newest is not None else []
    return max([*leads, *([] if before.lead is None else [before.lead])], default=None)


def _joined(
    before: Mapping[str, Iterable[ArrivalSpan]], seen: Mapping[str, Iterable[ArrivalSpan]], gap: timedelta
) -> dict[str, list[ArrivalSpan]]:
    return {name: list(joined((*before.get(name, ()), *seen.get(name, ())), gap)) for name in sorted({*before, *seen})}


def _accepted(
    waiting: dict[str, list[ArrivalSpan]],
    limit: datetime,
    live: AbstractSet[tuple[str, ArrivalSpan]],
    gap: timedelta,
) -> dict[str, datetime]:
    """Take out of `waiting` what counts, and return how far that is in each partition."""
    accepted: dict[str, datetime] = {}
    while credible := _credible(waiting, limit, live, gap):
        for partition, span in credible:
            waiting[partition].remove(span)
            accepted[partition] = max(span.last, accepted.get(partition, span.last))
            limit = max(limit, span.last + gap)
    return accepted


def _begun(
    known: Mapping[str, tuple[ArrivalSpan, ...]],
    waiting: Mapping[str, list[ArrivalSpan]],
    live: AbstractSet[tuple[str, ArrivalSpan]],
    confirmed: datetime | None,
) -> dict[str, tuple[ArrivalSpan, ...]]:
    """Return the spans that count. What bore one out in this call, and will not in the next, is kept with it."""
    return {
        partition: tuple(
            replace(span, witnessed=True)
            if (partition, span) in live or (confirmed is not None and span.first <= confirmed)
            else span
            for span in spans
            if span not in waiting[partition]
        )
        for partition, spans in known.items()
    }


def _growing(
    before: Mapping[str, Iterable[ArrivalSpan]], after: Mapping[str, list[ArrivalSpan]], since: datetime
) -> set[tuple[str, ArrivalSpan]]:
    """Return the spans that go on while our own clock does, by partition: a single record of the future does not."""
    return {
        (partition, span)
        for partition, spans in after.items()
        for span in spans
        if span.last >= since
        and any(old.first >= span.first and old.last < span.last for old in before.get(partition, ()))
    }


def _credible(
    waiting: Mapping[str, list[ArrivalSpan]],
    limit: datetime,
    live: AbstractSet[tuple[str, ArrivalSpan]],
    gap: timedelta,
) -> list[tuple[str, ArrivalSpan]]:
    return [
        (partition, span)
        for partition, spans in waiting.items()
        for span in spans
        if span.first <= limit
        or span.witnessed
        or (partition, span) in live
        or any(other.is_near(span, gap) for q, others in waiting.items() if q != partition for other in others)
    ]


def _until(spans: Mapping[str, tuple[ArrivalSpan, ...]], until: datetime) -> dict[str, tuple[ArrivalSpan, ...]]:
    kept = {partition: tuple(span for span in own if span.last <= until) for partition, own in spans.items()}
    return {partition: own for partition, own in kept.items() if own}
