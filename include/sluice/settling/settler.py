"""The settler of one pipeline: examines what arrived, and settles the intervals that are complete.

Nothing is durable before its one commit, which carries the rows, how far the records were examined, and the settled
intervals that lack some of them. Killed anywhere, the next one begins from the log.

An interval is complete when every topic has passed it, each by its own clock and rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

from sluice.clock import Clock
from sluice.intervals.alignment import Interval
from sluice.intervals.entries import ExaminedSource, LossyRange, SettleEntry
from sluice.intervals.raw_floor import WholeFrom
from sluice.settling.beginning import without_lone_beginnings
from sluice.settling.completeness import NOTHING_KNOWN, Completeness
from sluice.settling.ports import Computation, RawSource, SettledState, SettledTable, Staged, UncertainCommitError
from sluice.settling.retention import whole_from
from sluice.settling.rules import SettlingRules
from sluice.settling.source import SettledSource, SourceRound


class RoundOutcome(StrEnum):
    """What one round of a settler came to."""

    SETTLED = "settled"  # intervals, or only marks on some that were settled before
    WAITING = "waiting"  # no interval is complete
    EXAMINING = "examining"  # the same, and more records are there to be examined
    RACED = "raced"  # another commit was quicker; the next round begins from it
    RAW_BEHIND = "raw_behind"  # a raw table does not hold all that was examined


@dataclass(frozen=True)
class SourceProgress:
    """Where a settler stands with one topic.

    Attributes:
        examined: what was examined of it.
        complete: how far it is complete, and what holds it.
    """

    examined: ExaminedSource = field(default_factory=ExaminedSource)
    complete: Completeness = NOTHING_KNOWN


@dataclass(frozen=True)
class Round:
    """One round of a settler.

    Attributes:
        outcome: what it came to.
        settled_until: how far the table is settled afterwards.
        begin: start of the first interval that is not settled; None: no record on time was examined yet.
        sources: where it stands with each topic.
    """

    outcome: RoundOutcome
    settled_until: datetime | None
    begin: datetime | None = None
    sources: Mapping[str, SourceProgress] = field(default_factory=dict)


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
    sources: Mapping[str, ExaminedSource]


R = TypeVar("R", bound=Staged)


class Settler(Generic[R]):
    """Settles the intervals of one pipeline.

    Args:
        author: in whose name it writes.
        rules: of each topic that the pipeline reads.
        raw: the raw table of each topic.
        computation: the pipeline's code over them.
        table: its output, opened.
        clock: gives the time.
        nonce: returns a new name for each commit.
    """

    def __init__(
        self,
        author: SettlerIdentity,
        rules: Mapping[str, SettlingRules],
        raw: Mapping[str, RawSource],
        computation: Computation[R],
        table: SettledTable[R],
        *,
        clock: Clock,
        nonce: Callable[[], str],
    ) -> None:
        self._author = author
        self._rules = rules
        self._sources = {topic: SettledSource(own, raw[topic], clock) for topic, own in rules.items()}
        self._computation = computation
        self._table = table
        self._nonce = nonce
        self._progress: _Progress | None = None

    def round(self) -> Round:
        """Examine what is new, and settle what is complete, if anything is.

        Raises:
            FencedError: a newer generation owns the table.
        """
        state = self._table.read()
        before = self._begin(state)
        found = {topic: source.round(before[topic], state) for topic, source in self._sources.items()}
        if any(each.is_behind for each in found.values()):
            return self._round(RoundOutcome.RAW_BEHIND, state, found)
        confirmed = {topic: self._sources[topic].confirmed(each) for topic, each in found.items()}
        if state.settled_until is not None:
            return self._settle(state, confirmed)
        return self._settle(state, without_lone_beginnings(confirmed, self._rules))

    def _begin(self, state: SettledState) -> Mapping[str, ExaminedSource]:
        if self._progress is not None and self._progress.decided_at == state.decided_at:
            return self._progress.sources
        return {topic: state.source(topic) for topic in self._sources}

    def _settle(self, state: SettledState, found: Mapping[str, SourceRound]) -> Round:
        pinned = {topic: each.pinned for topic, each in found.items()}
        examined = {topic: each.after for topic, each in found.items()}
        whole = self._due(state, found)
        due = None if whole is None else self._computation.bounded(pinned, whole)
        unread = any(each.has_unread for each in found.values())
        nothing_found = not any(each.found_something for each in found.values())
        # One computation costs as much as many records: what is not examined yet may complete more intervals for it.
        may_grow = due is None or (unread and due == whole)
        if may_grow and nothing_found and not _unconfirmed_changed(state, examined):
            self._progress = _Progress(state.decided_at, examined)
            return self._round(RoundOutcome.EXAMINING if unread else RoundOutcome.WAITING, state, found)
        below = {topic: each.reach for topic, each in examined.items()}
        rows = None
        if due is not None:  # all intervals of a commit are made with the same static inputs
            self._computation = self._computation.renewed()
            rows = self._computation.compute(pinned, below, due)
        entry = self._entry(state, found, due, rows)
        outcome = self._commit(state, entry, rows)
        if outcome is RoundOutcome.SETTLED:
            state = replace(state, settled_until=entry.settled_until)
        return self._round(outcome, state, found)

    def _round(self, outcome: RoundOutcome, state: SettledState, found: Mapping[str, SourceRound]) -> Round:
        begin = self._first(state, found)
        sources = {topic: SourceProgress(each.after, each.complete) for topic, each in found.items()}
        return Round(outcome, state.settled_until, begin, sources)

    def _first(self, state: SettledState, found: Mapping[str, SourceRound]) -> datetime | None:
        """Return the start of the first interval that is not settled; None: no record tells where the table begins.

        A table begins with an interval that is whole: records of earlier ones may have been removed.
        """
        begins = (
            source.rules.begin(state.settled_until, found[topic].after.first_event)
            for topic, source in self._sources.items()
        )
        begin = min((begin for begin in begins if begin is not None), default=None)
        whole = self._whole(found)
        if begin is None or whole is None or state.settled_until is not None:
            return begin
        return max(begin, whole.start)

    def _whole(self, found: Mapping[str, SourceRound]) -> WholeFrom | None:
        """Return from which interval on every topic still has all records; None if nothing of any was removed."""
        floors = {topic: each.pinned.floor for topic, each in found.items()}
        return whole_from(self._rules, floors, {topic: topic for topic in self._rules})

    def _lossy(self, due: Interval | None, found: Mapping[str, SourceRound]) -> Iterator[LossyRange]:
        """Yield what no record can make whole any more: its records were lost, or removed while nobody needed them."""
        for each in found.values():
            yield from each.found.lossy
        whole = self._whole(found)
        if due is not None and whole is not None and due.start < whole.start:
            yield LossyRange(due.start, min(due.end, whole.start), floor=whole.floor)

    def _due(self, state: SettledState, found: Mapping[str, SourceRound]) -> Interval | None:
        """Return the intervals that are complete and not settled; None without any."""
        start = self._first(state, found)
        held = {topic: each.complete.clock for topic, each in found.items() if not each.complete.is_empty}
        clocks = {topic: clock for topic, clock in held.items() if clock is not None}
        if start is None or not clocks or clocks.keys() != held.keys():
            return None
        # What comes to a topic that is empty arrives later than all this, but may be as late as its rules allow.
        slowest = min(clocks.values())
        ends = (own.rules.complete_until(clocks.get(topic, slowest)) for topic, own in self._sources.items())
        until = min(ends)
        return Interval(start, until) if start < until else None

    def _entry(
        self, state: SettledState, found: Mapping[str, SourceRound], due: Interval | None, rows: R | None
    ) -> SettleEntry:
        begun = due is not None or state.settled_until is not None
        each = found.values()
        return SettleEntry(
            writer=self._author.writer,
            generation=self._author.generation,
            nonce=self._nonce(),
            since=due.start if due is not None else state.settled_until,
            settled_until=due.end if due is not None else state.settled_until,
            sources={
                topic: replace(own.after, first_event=None if begun else own.after.first_event)
                for topic, own in found.items()
            },
            content=rows.content if rows is not None else {},
            carried=rows.carried if rows is not None else {},
            overtaken=_merged([own.found.overtaken for own in each]),
            lossy=tuple(self._lossy(due, found)),
            code=self._author.code,
            static=dict(self._computation.static) if due is not None else {},
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


def _unconfirmed_changed(state: SettledState, examined: Mapping[str, ExaminedSource]) -> bool:
    return any(each.clocks.unconfirmed != state.source(topic).clocks.unconfirmed for topic, each in examined.items())


def _merged(overtaken: list[Mapping[datetime, Mapping[str, int]]]) -> dict[datetime, dict[str, int]]:
    """Return what several topics have overtaken: the offsets of each are those of its own partitions."""
    starts = sorted({start for own in overtaken for start in own})
    return {start: {p: end for own in overtaken for p, end in own.get(start, {}).items()} for start in starts}
