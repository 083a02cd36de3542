"""One pipeline and all that surrounds it, with an oracle that knows every record that was ever read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sluice.intervals.entries import (
    LOST,
    AdvanceEntry,
    BackfillEntry,
    Content,
    SettleEntry,
    StreamEntry,
    WithdrawnEntry,
)
from sluice.intervals.ledger import Ledger, LedgerRow
from sluice.intervals.reach import Reach
from tests.simulation.breach import BreachError
from tests.simulation.choices import Choices
from tests.simulation.code import Code
from tests.simulation.crew import Actor, Crew
from tests.simulation.settling.source import EPOCH, MINUTE, Index, RawStore, Record, Topic, is_below
from tests.twins.clock import ManualClock

LENGTH, LATENESS, DISORDER, MAX_ADVANCE, IDLE = 10, 10, 5, 60, 8
"""Minutes."""

SETTLER, APPENDER = "settle:flights", "flights:topic0:0"


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
        self.time = self.clock.now() if self.live else EPOCH
        """The source's own time: nothing that is appended from now on has arrived before it, less the disorder."""
        self.loses = loses
        """Whether records are lost before they are read."""
        self.follows = choices.chance(0.3) and not loses
        """Whether a former version appended to the table before."""
        self.ending = False
        self.poisoned: set[int] = set()
        self.poison: list[datetime] = []
        self.rules = code.rules.SettlingRules(
            length=LENGTH * MINUTE,
            allowed_lateness=LATENESS * MINUTE,
            arrival_disorder=DISORDER * MINUTE,
            max_advance=MAX_ADVANCE * MINUTE,
            lookback=0 * MINUTE if self.follows else choices.pick((0, 7)) * MINUTE,
            lookahead=0 * MINUTE if self.follows else choices.pick((0, 4)) * MINUTE,
            # It says that arrival times are of now, which those of last year are not.
            idle=IDLE * MINUTE if self.live and choices.chance(0.5) else None,
        )
        self.topic = Topic(1 + choices.below(3))
        self.raw = RawStore(self.topic, self.rules)
        self.known_before = Index(self.rules)
        """What the former version had read."""
        self.store = code.table.SettledStore(self.clock.now, self.check)
        self.enabled: frozenset[str] = frozenset()
        self.actors: list[Actor] = []
        self.generation = 1
        self.opened = 0
        """The newest generation that has opened the table."""
        self.appended: list[Record] = []
        self.excused = False
        """Whether marks are to be expected: records came later than declared, or a person decided."""

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
        ledger: Ledger = self.code.ledger.fold(self.store.log(), self.rules.length)
        return ledger

    def settled(self) -> tuple[int, SettleEntry] | None:
        """Return the newest settlement, with its version."""
        found = ((logged.version, logged.entry) for logged in self.store.newest_first())
        return next(((version, entry) for version, entry in found if isinstance(entry, SettleEntry)), None)

    def check(self) -> None:
        """See that no closed interval lacks or repeats a record unless it is marked.

        Raises:
            BreachError: one does.
        """
        newest = self.settled()
        for row in self.ledger().rows.values():
            if row.current is None:
                continue
            held = self.store.rows.get(row.interval.start, [])
            self._compare(row, held, row.current.reach, "its records below its own reach")
            if newest is not None and not row.dirty:
                self._compare(row, held, newest[1].reach, "the records that were examined", missing_only=True)
        if newest is not None and not self.excused:
            self._check_lossy(newest[1].reach)

    def _check_lossy(self, examined: Reach) -> None:
        """See that each interval is marked for good whose lost records were passed."""
        rows = self.ledger().rows
        for record in self.raw.lost:
            # A lost record of the future belongs to an interval that no bound of its neighbours reaches.
            future = record.arrival in self.poison
            if future or not record.is_on_time(self.rules) or not is_below(record.id, examined):
                continue
            for start in self.raw.index.intervals(record):
                row = rows.get(start)
                if row is not None and row.current is not None and not row.lossy:
                    raise BreachError(f"{start:%H:%M} lacks {record.id}, which is lost, and is not marked")

    def _compare(self, row: LedgerRow, held: list[Any], below: Reach, what: str, *, missing_only: bool = False) -> None:
        start = row.interval.start
        expected = sorted({*self.raw.index.rows(start, below), *self.known_before.rows(start, below)})
        wrong = [each for each in expected if each not in held] if missing_only else held != expected
        if wrong:
            raise BreachError(f"{start:%H:%M} holds {held}; {what} are {expected}, and it is not marked")

    @property
    def raw_knows_history(self) -> bool:
        """Whether the raw table holds what the former version had read; what it never had, nobody can settle."""
        return {record.id for record in self.appended} <= {record.id for record in self.raw.stored}

    # What persons and other writers do

    def withdraw(self, since: datetime) -> None:
        self.say("person withdraws", f"since {since:%H:%M}")
        self.excused = True
        self.store.commit(WithdrawnEntry(since, "ann", "wrong"))

    def decide(self, until: datetime | None) -> None:
        self.say("person confirms" if until else "person refuses")
        self.excused = self.excused or until is not None
        self.store.commit(AdvanceEntry(until, "ann", "seen"))

    def recompute(self) -> None:
        """Recompute one interval that is marked, as a backfill does: read, compute, publish if nobody else wrote it."""
        marked = (row for row in self.ledger().spans if self.ledger().closes(row))
        dirty = [row for row in marked if any(not why.endswith(LOST) for why in row.dirty)]
        if not dirty:
            return None
        start, version = dirty[0].interval.start, self.store.version
        pinned = self.raw.position()
        self.stand("backfill computes")
        ids = self.raw.index.rows(start, pinned.reach)
        self.stand("backfill publishes")
        if self.store.written_at.get(start, -1) > version:
            return self.say("backfill: refused")
        content = {start: Content(len(ids), str(sum(map(hash, ids))))}
        entry = BackfillEntry(
            f"b{version}", "recompute", "ann", "repair", pinned.reach.offsets, {}, content, "c", "", pinned.reach.topics
        )
        self.store.commit(entry)
        self.store.replace({start: ids}, start, start + self.rules.length)
        self.say("backfill: published", f"{start:%H:%M}")
        self.check()
        return None

    def append_history(self) -> None:
        """Let a former version have appended to the table: whole intervals, and a part of the one after them."""
        ends = self.topic.ends()
        self.appended = [record for log in self.topic.logs for record in log]
        for record in self.appended:
            self.known_before.add(record)
        on_time = [record for record in self.appended if record.is_on_time(self.rules)]
        if not on_time:
            return
        first = self.rules.complete_until(min(record.event for record in on_time) + self.rules.margin)
        closed = self.rules.complete_until(self.time)
        if closed <= first:
            return
        spans = [first + n * self.rules.length for n in range((closed - first) // self.rules.length + 1)]
        rows = {start: self.known_before.rows(start, ends) for start in spans}
        rows[closed] = rows[closed][:1]
        self._stream(rows, ends, closed)

    def append_again(self, snapshot: int) -> None:
        """Let a driver of the former version that slept write to the interval that it has open.

        Args:
            snapshot: how many commits there were when it checked the table, its mark included.
        """
        last = next((c.logged.entry for c in self.store.commits[:snapshot]), None)
        if not isinstance(last, StreamEntry) or last.closed_until is None:
            return
        self.stand("former version writes")
        if any(APPENDER in commit.transactions for commit in self.store.commits[snapshot:]):
            self.say("former version: conflict")
            return
        self._stream({last.closed_until: [("topic0", 0, 10_000)]}, Reach(last.end), last.closed_until)
        self.say("former version: wrote")

    def _stream(self, rows: dict[datetime, list[Any]], ends: Reach, closed: datetime) -> None:
        content = {start: Content(len(ids), str(sum(map(hash, ids)))) for start, ids in rows.items() if ids}
        entry = StreamEntry(
            APPENDER, 1, "l", 1, {}, ends.offsets, watermark=closed, closed_until=closed, content=content
        )
        self.store.commit(entry, transactions=frozenset({APPENDER}))
        self.store.put({start: ids for start, ids in rows.items() if ids})
