"""One topic of a settler: what arrived of it is examined, and how far it is complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sluice.clock import Clock
from sluice.intervals.arrivals import advanced
from sluice.intervals.entries import ExaminedSource, LossyRange
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.settling.completeness import NOTHING_KNOWN, Completeness, Silence, completeness
from sluice.settling.examination import Examination
from sluice.settling.ports import RawSource, SettledState
from sluice.settling.rules import SettlingRules


@dataclass(frozen=True)
class SourceRound:
    """What one round has found in one topic.

    Attributes:
        pinned: how far the raw table goes, as far as it may be judged.
        after: what is examined now; the same as before if nothing could be.
        found: in the records that were examined in this round.
        complete: how far the topic is complete, and what holds it.
        is_behind: the raw table does not hold all that was examined before.
    """

    pinned: RawPosition
    after: ExaminedSource
    found: Examination = field(default_factory=lambda: Examination({}))
    complete: Completeness = NOTHING_KNOWN
    is_behind: bool = False

    @property
    def has_unread(self) -> bool:
        """Whether the raw table holds records that are not examined."""
        return not self.after.reach.covers(self.pinned.reach)

    @property
    def found_something(self) -> bool:
        """Whether settled intervals are to be marked."""
        return bool(self.found.overtaken or self.found.lossy)


@dataclass(frozen=True)
class _BoundedHole:
    """A hole, and the arrival times between which those of its records lie: see `RawSource.around`."""

    hole: Hole
    first: datetime | None
    last: datetime


class SettledSource:
    """Examines one topic for a settler.

    Args:
        rules: of the topic.
        raw: its raw table.
        clock: gives the time.
    """

    def __init__(self, rules: SettlingRules, raw: RawSource, clock: Clock) -> None:
        self.rules = rules
        self._raw = raw
        self._clock = clock
        self._silence = Silence()
        self._drained = (Reach({}), frozenset[str]())  # what was examined, and which partitions were read to their ends

    def round(self, before: ExaminedSource, state: SettledState) -> SourceRound:
        """Examine what is new.

        Args:
            before: what was examined before.
            state: of the settled table.
        """
        pinned = self._raw.pin()
        asked_at = self._clock.monotonic()
        listed = self._raw.listed_ends()  # after the table was pinned: see `completeness`
        answered_at = self._clock.monotonic()
        if pinned.version < 0:
            complete = NOTHING_KNOWN
            if not before.offsets:  # otherwise a table is gone that was there
                complete = self._complete(before, listed, self._silence.of(before.reach, listed, asked_at, answered_at))
            return SourceRound(replace(pinned, reach=before.reach), before, complete=complete)
        if not pinned.reach.covers(before.reach):
            return SourceRound(pinned, before, is_behind=True)
        if _is_new_topic(before.reach, pinned.reach):
            before = replace(before, clocks=before.clocks.of_new_topic())
        pinned, holes = self._holes(pinned, before)
        found = self._raw.examine(pinned, before.reach, state.settled_until)
        after = self._advance(before, pinned, found, state)
        self._drained = (after.reach, _drained(after.reach, listed))
        silence = self._silence.of(after.reach, listed, asked_at, answered_at)
        complete = self._complete(after, listed, silence)
        found = replace(found, lossy=tuple(self._lossy(state, holes, after)))
        return SourceRound(pinned, after, found, complete)

    def confirmed(self, found: SourceRound) -> SourceRound:
        """Return a round, without the emptiness of a topic that has records by now.

        What comes to an empty topic arrives later than what the others have; so it has to be empty after these were
        read.
        """
        if not found.complete.is_empty or found.after.reach.covers(self._raw.listed_ends()):
            return found
        return replace(found, complete=NOTHING_KNOWN)

    def _advance(
        self, before: ExaminedSource, pinned: RawPosition, found: Examination, state: SettledState
    ) -> ExaminedSource:
        clocks = advanced(
            before.clocks,
            found.spans,
            max_advance=self.rules.max_advance,
            now=self._clock.now(),
            believed_until=state.believed_until,
            settled=state.settled_until is not None,
        )
        events = [event for event in (before.first_event, found.first_event) if event is not None]
        drained = self._drained[1] if self._drained[0] == before.reach else frozenset()
        across = found.disorder_after(before.clocks, drained, self.rules.max_advance)
        disorder = max(before.disorder, found.disorder, across)
        return ExaminedSource(found.end, pinned.reach.topics, clocks, min(events, default=None), disorder)

    def _complete(self, after: ExaminedSource, listed: Reach, silence: timedelta) -> Completeness:
        if _is_new_topic(after.reach, listed):
            return Completeness(None, tuple(sorted(listed.offsets)))
        found = completeness(after.clocks, after.offsets, listed.offsets)
        if self.rules.idle is None or silence < self.rules.idle:
            return found
        return replace(found, clock=None if found.clock is None else found.clock + silence, silence=silence)

    def _holes(self, pinned: RawPosition, before: ExaminedSource) -> tuple[RawPosition, list[_BoundedHole]]:
        """Return as much of the raw table as may be judged, and the holes that are new in it.

        Of records that are lost and behind which nothing arrived nobody can say how late they were: their partition is
        read no further until something does; of a topic that was deleted, nothing is until the next one has something.
        """
        offsets, bounded = dict(pinned.reach.offsets), []
        for hole in reversed(pinned.holes):
            if before.reach.covers(hole.reach) or not pinned.reach.covers(hole.reach):
                continue
            first, last = self._raw.around(pinned, hole)
            if last is not None:
                bounded.append(_BoundedHole(hole, first, last))
            elif hole.topic == pinned.reach.topics[-1]:
                offsets[hole.partition] = min(hole.first, offsets[hole.partition])
            else:
                return replace(pinned, reach=before.reach), []
        return replace(pinned, reach=replace(pinned.reach, offsets=offsets)), bounded

    def _lossy(self, state: SettledState, holes: Iterable[_BoundedHole], after: ExaminedSource) -> Iterator[LossyRange]:
        """Yield the intervals that may lack the records of holes which are examined now.

        None of them is settled: what lies behind the read part of a partition belongs to no settled interval.
        """
        for each in holes:
            if after.reach.covers(each.hole.reach):
                lossy = self.rules.may_hold(each.first or each.last, each.last)
                known = [lossy.start if each.first else None, state.settled_until]
                since = max((start for start in known if start is not None), default=None)
                if since is None or since < lossy.end:
                    yield LossyRange(since, lossy.end, each.hole)


def _drained(examined: Reach, listed: Reach) -> frozenset[str]:
    if _is_new_topic(examined, listed):
        return frozenset()
    return frozenset(name for name, end in listed.offsets.items() if examined.offsets.get(name, 0) >= end)


def _is_new_topic(before: Reach, after: Reach) -> bool:
    return bool(before.topics and after.topics and before.topics[-1] != after.topics[-1])
