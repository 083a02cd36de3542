"""The ports of a settler in a simulation: an actor stands still before and after each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Self, TypeVar

from sluice.intervals.alignment import Interval
from sluice.intervals.entries import SettleEntry
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.settling.examination import Examination
from sluice.settling.ports import SettledState, UncertainCommitError
from tests.simulation.breach import BreachError
from tests.simulation.settling.inflow import SMALLEST_READ, Inflow
from tests.simulation.settling.source import EPOCH, bounds_of, is_below, times
from tests.simulation.settling.table import SettledDelta, StagedRows
from tests.simulation.settling.world import World

T = TypeVar("T")


class _Gate:
    def __init__(self, world: World) -> None:
        self._world = world

    def _pass(self, call: str, act: Callable[[], T]) -> T:
        self._world.stand(f"before {call}")
        answer = act()
        self._world.tally[f"call: {call}"] = self._world.tally.get(f"call: {call}", 0) + 1
        self._world.stand(f"after {call}")
        return answer


class RawGate(_Gate):
    """Implements `sluice.settling.ports.RawSource`."""

    def __init__(self, world: World, inflow: Inflow) -> None:
        super().__init__(world)
        self._inflow = inflow

    def pin(self) -> RawPosition:
        return self._pass("pin", self._inflow.position)

    def listed_ends(self) -> Reach:
        return self._pass("listed_ends", self._inflow.topic.ends)

    def examine(self, pinned: RawPosition, since: Reach, settled_until: datetime | None) -> Examination:
        return self._pass("examine", lambda: self._examine(pinned.reach, since, settled_until))

    def around(self, pinned: RawPosition, hole: Hole) -> tuple[datetime | None, datetime | None]:
        return self._inflow.raw.around(hole, pinned.reach)

    def _examine(self, pinned: Reach, since: Reach, settled_until: datetime | None) -> Examination:
        world, inflow = self._world, self._inflow
        most = 1_000 if world.ending else world.choices.pick((1_000, 1_000, 5, SMALLEST_READ))
        ends = {}
        for partition, end in pinned.offsets.items():
            first = since.offsets.get(partition, 0) if since.topics[-1:] == pinned.topics[-1:] else 0
            ends[partition] = min(end, first + most)
        reach, before = bounds_of(Reach(ends, pinned.topics)), bounds_of(since)
        new = [r for r in inflow.raw.stored if is_below(r.id, reach) and not is_below(r.id, before)]
        found: Examination = world.code.examination.examined(
            (times(record, pinned.topics[-1]) for record in new), ends, inflow.rules, settled_until
        )
        return found


class ComputationGate(_Gate):
    """Implements `sluice.settling.ports.Computation`."""

    def bounded(self, pinned: Mapping[str, RawPosition], intervals: Interval) -> Interval:
        assert any(own.version >= 0 for own in pinned.values())
        most = self._world.choices.pick((3, 3, 1, 100)) * self._world.length
        return Interval(intervals.start, min(intervals.end, intervals.start + most))

    def renewed(self) -> Self:
        return self

    @property
    def static(self) -> dict[str, str]:
        return {}

    def compute(self, pinned: Mapping[str, RawPosition], below: Mapping[str, Reach], intervals: Interval) -> StagedRows:
        for topic, reach in below.items():
            assert pinned[topic].reach.covers(reach), (
                "rows are computed from records that the pinned table does not hold"
            )
        return self._pass("compute", lambda: self._compute(below, intervals))

    def _compute(self, below: Mapping[str, Reach], intervals: Interval) -> StagedRows:
        world, start, rows = self._world, intervals.start, {}
        taken = {topic: own for reach in below.values() for topic, own in bounds_of(reach).items()}
        while start < intervals.end:
            rows[start] = world.rows(start, taken)
            start += world.length
        return StagedRows(rows, self._world.carried(rows))


class TableGate(_Gate):
    """Implements `sluice.settling.ports.SettledTable`, and loses answers."""

    def __init__(self, world: World, table: SettledDelta) -> None:
        super().__init__(world)
        self._table = table

    def open(self) -> None:
        self._pass("open", self._open)

    def _open(self) -> None:
        self._table.open()
        self._world.opened = max(self._world.opened, self._table.generation)

    def read(self) -> SettledState:
        return self._pass("read", self._table.read)

    def commit(self, state: SettledState, entry: SettleEntry, rows: StagedRows | None) -> bool:
        world = self._world
        lost = "answer is lost" in world.enabled and world.choices.chance(0.2)
        if lost and world.choices.chance(0.5):
            world.say("fault: commit is lost")
            raise UncertainCommitError("lost on its way")
        done = self._pass("commit", lambda: self._commit(state, entry, rows))
        if done:
            world.say("settled", f"until {entry.settled_until}, {len(entry.content)} with rows")
            if self._in_silence(entry):
                world.say("settled in silence")
            if entry.content and any(source.clocks.newest is None for source in entry.sources.values()):
                world.say("settled past an empty topic")
            for start in entry.overtaken:
                world.say("marked", f"{start:%H:%M}")
            if entry.overtaken and not world.excused:
                raise BreachError(f"settled too early: {sorted(entry.overtaken)} lack records on time")
            if "withdrawal" in world.enabled and world.choices.chance(0.1):
                world.act()
        if lost:
            world.say("fault: answer is lost")
            raise UncertainCommitError("no answer")
        return done

    def _in_silence(self, entry: SettleEntry) -> bool:
        rules = {inflow.name: inflow.rules for inflow in self._world.inflows}
        newest = ((topic, source.clocks.newest) for topic, source in entry.sources.items())
        by_records = min(EPOCH if time is None else rules[topic].complete_until(time) for topic, time in newest)
        return entry.content != {} and entry.settled_until is not None and entry.settled_until > by_records

    def _commit(self, state: SettledState, entry: SettleEntry, rows: StagedRows | None) -> bool:
        done: bool = self._table.commit(state, entry, rows)
        if done:
            self._world.check_withdrawn(entry)
        if done and entry.generation < self._world.opened:
            raise BreachError(f"generation {entry.generation} writes after {self._world.opened} has opened the table")
        return done

    def holds(self, state: SettledState, entry: SettleEntry) -> bool:
        return self._pass("holds", lambda: self._table.holds(state, entry))
