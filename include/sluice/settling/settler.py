"""The settler of one pipeline: examines what arrived, and settles the intervals that are complete.

Nothing is durable before its one commit, which carries the rows, how far the records were examined, and the settled
intervals that lack some of them. Killed anywhere, the next one begins from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic, TypeVar

from sluice.clock import Clock
from sluice.intervals.alignment import Interval
from sluice.intervals.arrivals import ArrivalClocks, advanced
from sluice.intervals.entries import LossyRange, SettleEntry
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.settling.completeness import NOTHING_KNOWN, Completeness, Silence, completeness
from sluice.settling.examination import Examination
from sluice.settling.ports import RawSource, SettledState, SettledTable, Staged, UncertainCommitError
from sluice.settling.rules import SettlingRules


class RoundOutcome(StrEnum):
    """What one round of a settler came to."""

    SETTLED = "settled"  # intervals, or only marks on some that were settled before
    WAITING = "waiting"  # no interval is complete
    EXAMINING = "examining"  # the same, and more records are there to be examined
    RACED = "raced"  # another commit was quicker; the next round begins from it
    RAW_BEHIND = "raw_behind"  # the raw table does not hold all that was examined


@dataclass(frozen=True)
class Round:
    """One round of a settler.

    Attributes:
        outcome: what it came to.
        settled_until: how far the table is settled afterwards.
        completeness: how far the source is complete, and what holds it.
        begin: start of the first interval that is not settled; None: no record on time was examined yet.
        clocks: of all that was examined.
        disorder: see `sluice.settling.examination.Examination`: the greatest so far.
    """

    outcome: RoundOutcome
    settled_until: datetime | None
    completeness: Completeness = NOTHING_KNOWN
    begin: datetime | None = None
    clocks: ArrivalClocks = field(default_factory=ArrivalClocks)
    disorder: timedelta = timedelta()


@dataclass(frozen=True)
class SettlerIdentity:
    """In whose name a settler writes.

    Attributes:
        writer: the settler's name in the log.
        generation: the attempt.
        code: hash of the code that computes.
    """

    writer: str
    generation: int
    code: str


@dataclass(frozen=True)
class _Progress:
    """What was examined; kept between two commits as long as nobody has decided anything else."""

    decided_at: int
    examined: Reach
    clocks: ArrivalClocks
    first_event: datetime | None = None
    disorder: timedelta = timedelta()


@dataclass(frozen=True)
class _BoundedHole:
    """A hole, and the arrival times between which those of its records lie: see `RawSource.around`."""

    hole: Hole
    first: datetime | None
    last: datetime


R = TypeVar("R", bound=Staged)


class Settler(Generic[R]):
    """Settles the intervals of one pipeline.

    Args:
        author: in whose name it writes.
        rules: the pipeline's.
        raw: its source.
        table: its output, opened.
        clock: gives the time.
        nonce: returns a new name for each commit.
    """

    def __init__(
        self,
        author: SettlerIdentity,
        rules: SettlingRules,
        raw: RawSource[R],
        table: SettledTable[R],
        *,
        clock: Clock,
        nonce: Callable[[], str],
    ) -> None:
        self._author = author
        self._rules = rules
        self._raw = raw
        self._table = table
        self._clock = clock
        self._nonce = nonce
        self._progress: _Progress | None = None
        self._silence = Silence()
        self._drained = (Reach({}), frozenset[str]())  # what was examined, and which partitions were read to their ends

    def round(self) -> Round:
        """Examine what is new, and settle what is complete, if anything is.

        Raises:
            FencedError: a newer generation owns the table.
        """
        state = self._table.read()
        before = self._begin(state)
        pinned = self._raw.pin()
        asked_at = self._clock.monotonic()
        listed = self._raw.listed_ends()  # after the table was pinned: see `completeness`
        answered_at = self._clock.monotonic()
        if pinned.version < 0:
            return self._round(RoundOutcome.WAITING, state, before)
        if not pinned.reach.covers(before.examined):
            return self._round(RoundOutcome.RAW_BEHIND, state, before)
        if _is_new_topic(before.examined, pinned.reach):
            before = replace(before, clocks=before.clocks.of_new_topic())
        pinned, holes = self._holes(pinned, before)
        found = self._raw.examine(pinned, before.examined, state.settled_until)
        after = self._advance(before, pinned, found, state)
        self._drained = (after.examined, _drained(after.examined, listed))
        silence = self._silence.of(after.examined, listed, asked_at, answered_at)
        complete = self._complete(after, listed, silence)
        found = replace(found, lossy=tuple(self._lossy(state, holes, after)))
        return self._settle(state, pinned, after, found, complete)

    def _begin(self, state: SettledState) -> _Progress:
        if self._progress is not None and self._progress.decided_at == state.decided_at:
            return self._progress
        return _Progress(state.decided_at, state.examined, state.clocks, state.first_event, state.disorder)

    def _advance(self, before: _Progress, pinned: RawPosition, found: Examination, state: SettledState) -> _Progress:
        clocks = advanced(
            before.clocks,
            found.spans,
            max_advance=self._rules.max_advance,
            now=self._clock.now(),
            believed_until=state.believed_until,
            settled=state.settled_until is not None,
        )
        events = [event for event in (before.first_event, found.first_event) if event is not None]
        examined = Reach(found.end, pinned.reach.topics)
        drained = self._drained[1] if self._drained[0] == before.examined else frozenset()
        across = found.disorder_after(before.clocks, drained, self._rules.max_advance)
        disorder = max(before.disorder, found.disorder, across)
        return _Progress(state.decided_at, examined, clocks, min(events, default=None), disorder)

    def _complete(self, progress: _Progress, listed: Reach, silence: timedelta) -> Completeness:
        if _is_new_topic(progress.examined, listed):
            return Completeness(None, tuple(sorted(listed.offsets)))
        found = completeness(progress.clocks, progress.examined.offsets, listed.offsets)
        if found.clock is None or self._rules.idle is None or silence < self._rules.idle:
            return found
        return replace(found, clock=found.clock + silence, silence=silence)

    def _settle(
        self, state: SettledState, pinned: RawPosition, after: _Progress, found: Examination, complete: Completeness
    ) -> Round:
        whole = self._due(state, after, complete)
        due = None if whole is None else self._raw.bounded(pinned, whole)
        unread = not after.examined.covers(pinned.reach)
        nothing_found = not found.overtaken and not found.lossy
        # One computation costs as much as many records: what is not examined yet may complete more intervals for it.
        may_grow = due is None or (unread and due == whole)
        if may_grow and nothing_found and after.clocks.unconfirmed == state.clocks.unconfirmed:
            self._progress = after
            outcome = RoundOutcome.EXAMINING if unread else RoundOutcome.WAITING
            return self._round(outcome, state, after, complete)
        rows = self._raw.compute(pinned, after.examined, due) if due is not None else None
        entry = self._entry(state, after, found, due, rows)
        outcome = self._commit(state, entry, rows)
        if outcome is RoundOutcome.SETTLED:
            state = replace(state, settled_until=entry.settled_until)
        return self._round(outcome, state, after, complete)

    def _round(
        self, outcome: RoundOutcome, state: SettledState, progress: _Progress, complete: Completeness = NOTHING_KNOWN
    ) -> Round:
        begin = self._rules.begin(state.settled_until, progress.first_event)
        return Round(outcome, state.settled_until, complete, begin, progress.clocks, progress.disorder)

    def _due(self, state: SettledState, after: _Progress, complete: Completeness) -> Interval | None:
        """Return the intervals that are complete and not settled; None without any."""
        start = self._rules.begin(state.settled_until, after.first_event)
        if start is None or complete.clock is None:
            return None
        end = self._rules.complete_until(complete.clock)
        return Interval(start, end) if start < end else None

    def _holes(self, pinned: RawPosition, before: _Progress) -> tuple[RawPosition, list[_BoundedHole]]:
        """Return as much of the raw table as may be judged, and the holes that are new in it.

        Of records that are lost and behind which nothing arrived nobody can say how late they were: their partition is
        read no further until something does; of a topic that was deleted, nothing is until the next one has something.
        """
        offsets, bounded = dict(pinned.reach.offsets), []
        for hole in reversed(pinned.holes):
            if before.examined.covers(hole.reach) or not pinned.reach.covers(hole.reach):
                continue
            first, last = self._raw.around(pinned, hole)
            if last is not None:
                bounded.append(_BoundedHole(hole, first, last))
            elif hole.topic == pinned.reach.topics[-1]:
                offsets[hole.partition] = min(hole.first, offsets[hole.partition])
            else:
                return replace(pinned, reach=before.examined), []
        return replace(pinned, reach=replace(pinned.reach, offsets=offsets)), bounded

    def _lossy(self, state: SettledState, holes: Iterable[_BoundedHole], after: _Progress) -> Iterator[LossyRange]:
        """Yield the intervals that may lack the records of holes which are examined now.

        None of them is settled: what lies behind the read part of a partition belongs to no settled interval.
        """
        for each in holes:
            if after.examined.covers(each.hole.reach):
                lossy = self._rules.may_hold(each.first or each.last, each.last)
                known = [lossy.start if each.first else None, state.settled_until]
                since = max((start for start in known if start is not None), default=None)
                if since is None or since < lossy.end:
                    yield LossyRange(since, lossy.end, each.hole)

    def _entry(
        self, state: SettledState, after: _Progress, found: Examination, due: Interval | None, rows: R | None
    ) -> SettleEntry:
        return SettleEntry(
            writer=self._author.writer,
            generation=self._author.generation,
            nonce=self._nonce(),
            since=due.start if due is not None else state.settled_until,
            settled_until=due.end if due is not None else state.settled_until,
            examined=after.examined.offsets,
            topics=after.examined.topics,
            clocks=after.clocks,
            first_event=after.first_event if due is None and state.settled_until is None else None,
            content=rows.content if rows is not None else {},
            overtaken=found.overtaken,
            lossy=found.lossy,
            code=self._author.code,
            disorder=after.disorder,
        )

    def _commit(self, state: SettledState, entry: SettleEntry, rows: R | None) -> RoundOutcome:
        lost: UncertainCommitError | None = None
        try:
            done = self._table.commit(state, entry, rows)
        except UncertainCommitError as error:
            done, lost = self._table.holds(state, entry), error
        if not done and rows is not None:
            rows.discard()  # whatever else is raised above leaves them: the log may name them
        if lost is not None and not done:
            raise lost
        return RoundOutcome.SETTLED if done else RoundOutcome.RACED


def _drained(examined: Reach, listed: Reach) -> frozenset[str]:
    if _is_new_topic(examined, listed):
        return frozenset()
    return frozenset(name for name, end in listed.offsets.items() if examined.offsets.get(name, 0) >= end)


def _is_new_topic(before: Reach, after: Reach) -> bool:
    return bool(before.topics and after.topics and before.topics[-1] != after.topics[-1])
