"""How far a settler has come, what is due, and what it waits for: what its driver reports after each round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sluice.intervals.alignment import Interval
from sluice.intervals.arrivals import ArrivalSpan
from sluice.settling.completeness import Completeness
from sluice.settling.ports import SettledState, unconfirmed_of
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import Round, RoundOutcome, SourceProgress

_NEVER = datetime.min.replace(tzinfo=UTC) + timedelta(days=10_000)  # less a margin that is a time still


@dataclass(frozen=True)
class HeldAdvance:
    """Arrival times beyond an advance that nothing bears out.

    Attributes:
        partition: of the earliest of them.
        first: the earliest (UTC).
    """

    partition: str
    first: datetime


@dataclass(frozen=True)
class SettlingStatus:
    """Where a settler stood after a round.

    An interval is due if the greatest arrival time that counts completes it. What is due and not settled is held back
    by partitions of which records are unread. What is not due waits for arrival times. Of several topics, the arrival
    times are those of the one that is furthest behind.

    Attributes:
        at: when that was (UTC, by our clock).
        settled_until: intervals that end by then are settled; None: none is.
        complete: arrival times that every partition has passed; None: not known.
        newest: the greatest arrival time that counts; None before the first record.
        due: how many intervals are due and not settled.
        oldest_due: start of the first of them.
        overdue: how far arrival times have passed the one that completes it.
        due_since: since when none of them was settled and `complete` has not moved.
        next_at: the arrival time that completes the next interval that is not due; None: it is not known where the
            table begins.
        silence: how much of `complete` no record bears out: nothing was appended for so long.
        idle: how long that must last before it counts; None: it never does.
        unread: partitions that hold back what is due, because records of them were not read.
        advance: arrival times that do not count before a person or another source bears them out.
        disorder: the farthest that an arrival time lay below one that is known to be appended before.
        declared_disorder: what the pipeline's spec allows.
        topic: which one is furthest behind; empty if the pipeline reads only one.
    """

    at: datetime
    settled_until: datetime | None = None
    complete: datetime | None = None
    newest: datetime | None = None
    due: int = 0
    oldest_due: datetime | None = None
    overdue: timedelta = timedelta()
    due_since: datetime | None = None
    next_at: datetime | None = None
    silence: timedelta = timedelta()
    idle: timedelta | None = None
    unread: tuple[str, ...] = ()
    advance: HeldAdvance | None = None
    disorder: timedelta = timedelta()
    declared_disorder: timedelta = timedelta()
    topic: str = ""

    @property
    def next_silence(self) -> timedelta | None:
        """How long nothing may arrive until the next interval is settled without it; None: it waits for a record."""
        if self.idle is None or self.next_at is None or self.newest is None:
            return None
        return max(self.idle, self.next_at - self.newest)

    @property
    def exceeds_disorder(self) -> bool:
        """Whether arrival times were in greater disorder than declared: their intervals may be settled too early."""
        return self.disorder > self.declared_disorder

    def due_intervals(self, length: timedelta) -> Interval | None:
        """Return the range of what is due; None if nothing is."""
        return None if self.oldest_due is None else Interval(self.oldest_due, self.oldest_due + self.due * length)


def status_after(
    before: SettlingStatus | None, done: Round, rules: Mapping[str, SettlingRules], at: datetime
) -> SettlingStatus:
    """Return where a settler stands after a round.

    Args:
        before: where it stood; None: that is not known.
        done: the round.
        rules: of each topic that the pipeline reads.
        at: when it ended (UTC).
    """
    sources = {topic: done.sources.get(topic, SourceProgress()) for topic in rules}
    status = _status(done.settled_until, done.begin, sources, rules, at)
    slowest = sources[status.topic or next(iter(rules))].complete
    status = replace(
        status,
        complete=_earliest([source.complete for source in sources.values()]),
        silence=slowest.silence if slowest.clock is not None else timedelta(),
        unread=tuple(name for each in sources.values() for name in each.complete.unread) if status.due else (),
        advance=_advance(before, done),
    )
    return replace(status, due_since=_due_since(before, status))


def status_of_log(state: SettledState, rules: Mapping[str, SettlingRules], at: datetime) -> SettlingStatus:
    """Return what the log of the settled table says before the first round; what is unread, it does not know."""
    sources = {topic: SourceProgress(state.source(topic)) for topic in rules}
    begins = (own.begin(state.settled_until, sources[topic].examined.first_event) for topic, own in rules.items())
    begin = min((begin for begin in begins if begin is not None), default=None)
    status = _status(state.settled_until, begin, sources, rules, at)
    return replace(status, due_since=at if status.due else None, advance=_first(state.unconfirmed))


def is_decided(advance: HeldAdvance, state: SettledState) -> bool:
    """Whether a person has decided about an advance since, by the log: the settler's next round follows it."""
    believed = state.believed_until is not None and state.believed_until >= advance.first
    return believed or not state.unconfirmed


def to_record(status: SettlingStatus) -> dict[str, Any]:
    """Return a status as JSON holds it."""
    return dict(_adapter().dump_python(status, mode="json"))


def from_record(record: object) -> SettlingStatus | None:
    """Return the status that a record holds; None if it is none, such as one of another version."""
    try:
        return _adapter().validate_python(record)
    except ValidationError:
        return None


def furthest_behind(
    sources: Mapping[str, SourceProgress], rules: Mapping[str, SettlingRules]
) -> tuple[str, SettlingRules]:
    """Return the topic whose arrival times complete the fewest intervals, and the rules by which they do.

    These are its own, or those of a topic that is empty and silent: what comes to that one arrives later.

    Args:
        sources: where a settler stands with each topic.
        rules: of each topic.
    """
    empty = [topic for topic in rules if sources[topic].complete.is_empty]
    passed = {topic: _passed(sources[topic]) for topic in rules if topic not in empty} or dict.fromkeys(rules, _NEVER)
    slowest = min(passed, key=lambda topic: passed[topic])
    bounds = [*((topic, rules[topic]) for topic in passed), *((slowest, rules[topic]) for topic in empty)]
    return min(bounds, key=lambda bound: passed[bound[0]] - bound[1].margin)


def _status(
    settled_until: datetime | None,
    begin: datetime | None,
    sources: Mapping[str, SourceProgress],
    rules: Mapping[str, SettlingRules],
    at: datetime,
) -> SettlingStatus:
    """Return what the arrival times say of the topic that is furthest behind, and of the one in greatest disorder."""
    topic, own = furthest_behind(sources, rules)
    newest = sources[topic].examined.clocks.newest
    due, open_from, overdue = 0, begin, timedelta()
    if begin is not None and newest is not None and (until := own.complete_until(newest)) > begin:
        due, open_from = (until - begin) // own.length, until
        overdue = newest - (begin + own.length + own.margin)
    unruly = max(rules, key=lambda name: sources[name].examined.disorder - rules[name].arrival_disorder)
    return SettlingStatus(
        at,
        settled_until,
        newest=newest,
        due=due,
        oldest_due=begin if due else None,
        overdue=overdue,
        next_at=None if open_from is None else open_from + own.length + own.margin,
        disorder=sources[unruly].examined.disorder,
        declared_disorder=rules[unruly].arrival_disorder,
        idle=rules[topic].idle,
        topic=topic if len(rules) > 1 else "",
    )


def _passed(source: SourceProgress) -> datetime:
    """Return how far a topic has come, by its arrival times and its silence."""
    newest = source.examined.clocks.newest
    return _NEVER if newest is None else newest + source.complete.silence


def _earliest(complete: Sequence[Completeness]) -> datetime | None:
    """Return how far all topics are complete; None if that is not known of one of them."""
    clocks = [each.clock for each in complete if not each.is_empty]
    known = [clock for clock in clocks if clock is not None]
    return min(known, default=None) if len(known) == len(clocks) else None


def _due_since(before: SettlingStatus | None, status: SettlingStatus) -> datetime | None:
    if not status.due:
        return None
    if before is None or before.due_since is None or before.settled_until != status.settled_until:
        return status.at
    further = status.complete is not None and (before.complete is None or status.complete > before.complete)
    return status.at if further else before.due_since


def _advance(before: SettlingStatus | None, done: Round) -> HeldAdvance | None:
    """Return what is held back; one that is new only once all is examined, because the rest may bear it out."""
    found = _first(unconfirmed_of(source.examined for source in done.sources.values()))
    if done.outcome is RoundOutcome.WAITING or found is None:
        return found
    return None if before is None or before.advance is None else found


def _first(unconfirmed: Mapping[str, tuple[ArrivalSpan, ...]]) -> HeldAdvance | None:
    firsts = [(span.first, partition) for partition, spans in unconfirmed.items() for span in spans]
    return HeldAdvance(min(firsts)[1], min(firsts)[0]) if firsts else None


@cache
def _adapter() -> TypeAdapter[SettlingStatus]:
    return TypeAdapter(SettlingStatus)
