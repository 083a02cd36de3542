"""Cases: quarantined records that are handled together, until they are in the results or discarded.

A case keeps the places of its records, so that what is quarantined later is another one's. Its state is what its events
say, and an event is never changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from sluice.errors import RefusedError, SpecError
from sluice.intervals.record_positions import RecordPositions
from sluice.wording import ExplainedEnum


class CaseState(ExplainedEnum):
    """Where a case is."""

    OPEN = "open", "its records wait for a decision", "fix the rule or the data, or discard it with a reason"
    FIXED = "fixed", "a user recorded that the cause is fixed", "replay it"
    REPLAYED = "replayed", "its records are in the results"
    DISCARDED = "discarded", "a user decided to keep its records out of the results"


_NEXT: Mapping[CaseState, frozenset[CaseState]] = {
    CaseState.OPEN: frozenset({CaseState.FIXED, CaseState.DISCARDED, CaseState.REPLAYED}),
    CaseState.FIXED: frozenset({CaseState.OPEN, CaseState.DISCARDED, CaseState.REPLAYED}),
    CaseState.REPLAYED: frozenset(),
    CaseState.DISCARDED: frozenset({CaseState.OPEN}),
}
LIVE = frozenset({CaseState.OPEN, CaseState.FIXED})
"""States in which a case's records are in no other case."""


@dataclass(frozen=True)
class CaseEvent:
    """A change of a case.

    Attributes:
        state: what it is from now on.
        by: who says so.
        why: the reason on record.
        at: when (UTC).
        backfills: those that put its records into the results.
        counts: what a replay found: records by outcome, quarantined ones by reason.
    """

    state: CaseState
    by: str
    why: str
    at: datetime
    backfills: tuple[str, ...] = ()
    counts: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Case:
    """Quarantined records of one pipeline.

    Attributes:
        id: names it to people and programs.
        pipeline: whose validation refuses them.
        selection: how they were chosen, in words.
        positions: of its records.
        reasons: how many records were refused for each reason, when it was opened.
        events: what happened to it, oldest first; the first one opened it.
    """

    id: str
    pipeline: str
    selection: str
    positions: RecordPositions
    reasons: Mapping[str, int]
    events: tuple[CaseEvent, ...]

    @property
    def state(self) -> CaseState:
        """Where it is."""
        return self.events[-1].state

    @property
    def records(self) -> int:
        """How many records it has."""
        return self.positions.count

    def after(self, event: CaseEvent) -> Case:
        """Return the case after a change.

        Raises:
            RefusedError: there is no way from its state to that one.
            SpecError: there is no reason.
        """
        if event.state not in _NEXT[self.state]:
            last = self.events[-1]
            raise RefusedError(
                f"the case {self.id} is {self.state} since {last.at:%Y-%m-%dT%H:%MZ}, by {last.by}: {last.why}. It "
                f"cannot become {event.state}.",
                fix="see `sluice quarantine show`, or open another case.",
            )
        if not event.why.strip():
            raise SpecError(f"{self.id} becomes {event.state} only with a reason.", fix="say why; it is recorded.")
        return replace(self, events=(*self.events, event))


class Cases(Protocol):
    """The record of cases in the control database. Every method may raise UnreachableError."""

    def open(self, case: Case) -> Case:
        """Put a case on record.

        Raises:
            RefusedError: one of its records is in a case that is open or fixed.
        """
        ...

    def add(self, case_id: str, event: CaseEvent) -> Case:
        """Put a change on record, and return the case after it.

        Raises:
            RefusedError: see `Case.after`.
            SpecError: there is no such case, or no reason.
        """
        ...

    def get(self, case_id: str) -> Case:
        """Return a case.

        Raises:
            SpecError: there is none of this id.
        """
        ...

    def of(self, pipeline: str | None = None) -> Sequence[Case]:
        """Return cases, newest first."""
        ...


def case_id(pipeline: str, at: datetime, positions: RecordPositions) -> str:
    """Name a case by its pipeline, when it was opened and its records."""
    digest = hashlib.sha256(repr(list(positions.pieces())).encode()).hexdigest()
    return f"{pipeline}-q{at:%Y%m%dT%H%M%S}-{digest[:4]}"


def no_such_case(case_id: str, known: Sequence[Case]) -> SpecError:
    """Return the error about an unknown id."""
    names = ", ".join(case.id for case in known[:5]) or "none"
    return SpecError(f"there is no case {case_id!r}.", fix=f"the newest are {names}; see `sluice quarantine cases`.")


def refuse_shared(case: Case, others: Sequence[Case]) -> None:
    """Refuse a case of which another one has records already.

    Raises:
        RefusedError: one has.
    """
    for other in others:
        if other.pipeline != case.pipeline or other.state not in LIVE:
            continue
        together = (case.positions | other.positions).count
        if shared := case.records + other.records - together:
            raise RefusedError(
                f"{shared:,} of these records are in the case {other.id}, which is {other.state}.",
                fix=f"continue with that one (`sluice quarantine show {other.id}`), or choose others.",
            )
