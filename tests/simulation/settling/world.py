"""One pipeline and all that surrounds it, with an oracle that knows every record that was ever read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sluice.intervals.arrivals import ArrivalSpan
from sluice.intervals.carried import Carried
from sluice.intervals.entries import (
    LOST,
    AdvanceEntry,
    BackfillEntry,
    Content,
    SettleEntry,
    WithdrawnEntry,
)
from sluice.intervals.ledger import Ledger, LedgerRow
from sluice.intervals.reach import Reach
from tests.simulation.breach import BreachError
from tests.simulation.choices import Choices
from tests.simulation.code import Code
from tests.simulation.crew import Actor, Crew
from tests.simulation.settling.inflow import Inflow, clock_of, first_inflow, second_inflow
from tests.simulation.settling.source import EPOCH, Below, RecordId, bounds_of, is_below
from tests.twins.clock import ManualClock

SETTLER = "settle:flights"


def _state(before: Mapping[str, str], ids: Sequence[RecordId]) -> Mapping[str, str]:
    """Return what an interval leaves: a digest of what it continues and of its rows."""
    return {"seen": str(hash((before.get("seen", ""), tuple(ids))))}


def _examined(entry: SettleEntry) -> Below:
    """Return what a settlement has examined of all topics."""
    return {topic: below for source in entry.sources.values() for topic, below in bounds_of(source.reach).items()}


class World:
    """See above.

    Args:
        crew: carries out what runs at once.
        code: the code under test.
        choices: where chance comes from.
        tally: counts what happens.
        story: takes what happens, if anybody wants to know.
        loses: whether records are lost before they are read.
    """

    def __init__(
        self,
        crew: Crew,
        code: Code,
        choices: Choices,
        tally: dict[str, int],
        story: list[str] | None,
        *,
        loses: bool = False,
    ) -> None:
        self.crew = crew
        self.code: Any = code
        self.choices = choices
        self.tally = tally
        self.story = story
        self.clock = ManualClock(EPOCH + timedelta(days=400))
        self.live = choices.chance(0.3)
        """Whether records arrive now, or are those of last year."""
        self.loses = loses
        """Whether records are lost before they are read."""
        self.begins_late = choices.chance(0.3) and not loses
        """Whether there are records that the pipeline never examines, because it begins behind them."""
        self.beginning: dict[str, Reach] = {}
        """Where it begins in each topic."""
        self.ending = False
        self.inflows = self._topics()
        """The topics that the pipeline reads."""
        self.store = code.table.SettledStore(self.clock.now, self.check)
        self.enabled: frozenset[str] = frozenset()
        self.actors: list[Actor] = []
        self.generation = 1
        self.opened = 0
        """The newest generation that has opened the table."""
        self.withdrawn: list[tuple[datetime, dict[str, Below]]] = []
        """From when on intervals were withdrawn, and what was examined of each topic then."""
        self.excused = False
        """Whether marks are to be expected: records came later than declared, or a person decided."""

    def _topics(self) -> tuple[Inflow, ...]:
        now, choices = self.clock.now(), self.choices
        first = first_inflow(self.code, choices, now, live=self.live)
        if not choices.chance(0.72):
            return (first,)
        self.say("two topics")
        return first, second_inflow(self.code, choices, now, live=self.live)

    @property
    def length(self) -> timedelta:
        return self.inflows[0].rules.length

    @property
    def idles(self) -> bool:
        """Whether a topic's silence counts."""
        return any(inflow.rules.idle is not None for inflow in self.inflows)

    @property
    def moving(self) -> list[Actor]:
        return [actor for actor in self.actors if not actor.ended]

    def begin(self, actor: str, operation: Callable[[], object]) -> None:
        self.actors.append(Actor(actor, operation))

    def say(self, what: str, detail: object = "") -> None:
        self.tally[what] = self.tally.get(what, 0) + 1
        if self.story is not None:
            self.story.append(f"{what} {detail}".rstrip())

    def stand(self, at: str) -> None:
        self.crew.stand(at)

    # The table as its readers see it

    def ledger(self) -> Ledger:
        ledger: Ledger = self.code.ledger.fold(self.store.log(), self.length)
        return ledger

    def settled(self) -> tuple[int, SettleEntry] | None:
        """Return the newest settlement, with its version."""
        found = ((logged.version, logged.entry) for logged in self.store.newest_first())
        return next(((version, entry) for version, entry in found if isinstance(entry, SettleEntry)), None)

    def settled_until(self) -> datetime | None:
        """Return how far the table is settled, less what was withdrawn since."""
        withdrawn: list[datetime] = []
        for logged in self.store.newest_first():
            if isinstance(logged.entry, WithdrawnEntry):
                withdrawn.append(logged.entry.since)
            if isinstance(logged.entry, SettleEntry):
                until = logged.entry.settled_until
                return None if until is None else min([until, *withdrawn])
        return None

    def rows(self, start: datetime, below: Below) -> list[RecordId]:
        """Return what the rows of an interval are made of: the records on time of each topic, by its own rules."""
        return sorted(record for inflow in self.inflows for record in inflow.raw.index.rows(start, below))

    def carried(self, rows: Mapping[datetime, Sequence[RecordId]]) -> dict[datetime, Carried]:
        """Return the state that each of some intervals continues and leaves: what all rows until then amount to."""
        found: dict[datetime, Carried] = {}
        before = self.code.continuation.continued(self.ledger().spans, min(rows)).digests
        for start, ids in sorted(rows.items()):
            if ids:
                found[start] = Carried(before, _state(before, ids))
                before = found[start].after
        return found

    def _check_states(self) -> None:
        """See that no interval is clean whose state is not made of the rows that readers see until then.

        Raises:
            BreachError: one is.
        """
        state: Mapping[str, str] = {}
        for start, row in sorted(self.ledger().rows.items()):
            if row.carried is None:
                continue
            state = _state(state, self.store.rows.get(start, []))
            if not row.dirty and row.carried.after != state:
                raise BreachError(f"{start:%H:%M} continues a state that is not that of the rows before it")

    def check(self) -> None:
        """See that no closed interval lacks or repeats a record unless it is marked.

        Raises:
            BreachError: one does.
        """
        newest = self.settled()
        examined = None if newest is None else _examined(newest[1])
        for row in self.ledger().rows.values():
            if row.current is None:
                continue
            held = self.store.rows.get(row.interval.start, [])
            self._compare(row, held, bounds_of(row.current.reach), "its records below its own reach")
            if examined is not None and not row.marks:
                self._compare(row, held, examined, "the records that were examined", missing_only=True)
        self._check_states()
        if examined is not None and not self.excused:
            self._check_lossy(examined)

    def _check_lossy(self, examined: Below) -> None:
        """See that each interval is marked for good whose lost records were passed."""
        rows = self.ledger().rows
        for inflow in self.inflows:
            for record in inflow.raw.lost:
                # Neither a lost record of the future nor one between two such is where its neighbours' times say.
                future = record.arrival in inflow.poison or inflow.is_between_poison(record.id)
                if future or not record.is_on_time(inflow.rules) or not is_below(record.id, examined):
                    continue
                for start in inflow.raw.index.intervals(record):
                    row = rows.get(start)
                    if row is not None and row.current is not None and not any(w.endswith(LOST) for w in row.marks):
                        raise BreachError(f"{start:%H:%M} lacks {record.id}, which is lost, and is not marked")

    def _compare(self, row: LedgerRow, held: list[Any], below: Below, what: str, *, missing_only: bool = False) -> None:
        start = row.interval.start
        expected = self.rows(start, below)
        wrong = [each for each in expected if each not in held] if missing_only else held != expected
        if wrong:
            raise BreachError(f"{start:%H:%M} holds {held}; {what} are {expected}, and it is not marked")

    def check_withdrawn(self, entry: SettleEntry) -> None:
        """See that what was withdrawn is settled by arrivals that were examined since, of each topic.

        Raises:
            BreachError: it is settled by what was known before.
        """
        examined = _examined(entry)
        for since, before in self.withdrawn:
            if entry.settled_until is None or entry.settled_until <= since:
                continue
            for inflow in self.inflows:
                newest = clock_of(inflow, examined, before[inflow.name])
                late = newest is None or inflow.rules.complete_until(newest) < entry.settled_until
                if late and inflow.rules.idle is None:
                    raise BreachError(f"settled until {entry.settled_until} by what was examined before {since}")

    # What persons and other writers do

    def act(self) -> None:
        """Let a person decide about arrival times that are held back, or withdraw what was settled last."""
        newest = self.settled()
        if newest is None:
            return
        entry = newest[1]
        spans = self.unconfirmed(entry)
        if spans and self.choices.chance(0.7):
            self.decide(max(spans).last if self.choices.chance(0.3) else None)
        elif entry.settled_until is not None:
            self.withdraw(entry.settled_until - self.choices.below(4) * self.length)

    def unconfirmed(self, entry: SettleEntry) -> list[ArrivalSpan]:
        clocks = [source.clocks for source in entry.sources.values()]
        return [span for each in clocks for own in each.unconfirmed.values() for span in own]

    def withdraw(self, since: datetime) -> None:
        self.say("person withdraws", f"since {since:%H:%M}")
        self.excused = True
        newest, until = self.settled(), self.settled_until()
        if newest is not None and until is not None and since < until:
            known = {topic: bounds_of(source.reach) for topic, source in newest[1].sources.items()}
            self.withdrawn.append((since, known))
        self.store.commit(WithdrawnEntry(since, "ann", "wrong"))

    def decide(self, until: datetime | None) -> None:
        self.say("person confirms" if until else "person refuses")
        self.excused = self.excused or until is not None
        self.store.commit(AdvanceEntry(until, "ann", "seen"))

    def recompute(self) -> None:
        """Recompute one interval that is marked, as a backfill does: read, compute, publish if nobody else wrote it."""
        ledger = self.ledger()
        marked = (row for row in ledger.spans if ledger.closes(row))
        dirty = [row for row in marked if any(not why.endswith(LOST) for why in row.dirty)]
        if not dirty:
            return None
        start, version = dirty[0].interval.start, self.store.version
        pinned: dict[str, Reach] = {}
        for inflow in self.inflows:
            pinned[inflow.name] = inflow.position().reach
            self.stand("backfill pins")
        raw = Reach.joined(pinned)
        ids = sorted(i for each in self.inflows for i in each.raw.index.rows(start, bounds_of(pinned[each.name])))
        carried = self.carried({start: ids})
        self.stand("backfill publishes")
        if self.store.written_at.get(start, -1) > version:
            return self.say("backfill: refused")
        content = {start: Content(len(ids), str(sum(map(hash, ids))))}
        entry = BackfillEntry(
            f"b{version}", "recompute", "ann", "repair", raw.offsets, {}, content, "c", "", raw.topics, carried=carried
        )
        self.store.commit(entry)
        self.store.replace({start: ids}, start, start + self.length)
        self.say("backfill: published", f"{start:%H:%M}")
        self.check()
        return None
