"""A settler over a raw table whose old records were removed: where it begins, and what it says of what is cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count

from sluice.intervals.entries import LossyRange, SettleEntry
from sluice.intervals.ledger import Ledger, fold
from sluice.intervals.raw_floor import RawFloor
from sluice.intervals.reach import RawPosition, Reach
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import Settler, SettlerIdentity
from sluice.settling.state import settled_state
from tests.twins.clock import ManualClock
from tests.unit.settling.test_two_topics import BOTH, MINUTE, NOW, NoRows, NothingComputed, OnePartition, OnlyLog

TEN = 10 * MINUTE
LOOKING_BACK = {name: SettlingRules(TEN, 5 * MINUTE, max_advance=60 * MINUTE, lookback=25 * MINUTE) for name in BOTH}


@dataclass
class Shortened(OnePartition):
    """A topic whose raw table keeps nothing from before its floor."""

    floor: RawFloor | None = None

    def pin(self) -> RawPosition:
        return RawPosition(len(self.times), self.listed_ends(), floor=self.floor)


@dataclass
class Bench:
    """Two topics, each with a record every minute."""

    minutes: int = 120
    rules: Mapping[str, SettlingRules] = field(default_factory=lambda: dict(BOTH))
    table: OnlyLog = field(default_factory=OnlyLog)
    floors: dict[str, RawFloor] = field(default_factory=dict)

    def settle(self) -> None:
        numbers = count(len(self.table.log))
        raw = {
            name: Shortened(name, rules, self._times(name), floor=self.floors.get(name))
            for name, rules in self.rules.items()
        }
        author = SettlerIdentity("settle:both", 1, "code")
        settler = Settler[NoRows](
            author,
            self.rules,
            raw,
            NothingComputed(),
            self.table,
            clock=ManualClock(NOW),
            nonce=lambda: str(next(numbers)),
        )
        settler.round()

    def _times(self, _name: str) -> list[object]:
        return [NOW + minute * MINUTE for minute in range(self.minutes)]

    @property
    def state(self) -> SettledState:
        return settled_state(reversed(self.table.log), len(self.table.log) - 1, self.rules)

    @property
    def ledger(self) -> Ledger:
        ends = {f"{name}/0": self.minutes for name in self.rules}
        return fold(self.table.log, TEN, Reach(ends, tuple(f"{name}/id of {name}" for name in self.rules)))

    def entry(self) -> SettleEntry:
        entry = self.table.log[-1].entry
        assert isinstance(entry, SettleEntry)
        return entry


def floor(minutes: int) -> RawFloor:
    return RawFloor(NOW + minutes * MINUTE, NOW)


def test_without_a_floor_a_table_begins_with_the_first_record() -> None:
    bench = Bench()
    bench.settle()
    assert bench.entry().since == NOW
    assert not bench.entry().lossy


def test_a_table_begins_with_the_first_interval_that_no_floor_cuts() -> None:
    bench = Bench(floors={"flights": floor(21), "weather": floor(12)})
    bench.settle()
    assert bench.entry().since == NOW + 30 * MINUTE
    assert not bench.entry().lossy


def test_what_is_read_before_an_interval_lies_above_the_floor_too() -> None:
    bench = Bench(rules=LOOKING_BACK, floors={"weather": floor(20)})
    bench.settle()
    assert bench.entry().since == NOW + 50 * MINUTE, "45 minutes is the first instant with a whole lookback"


def test_nothing_is_settled_before_an_interval_is_whole() -> None:
    bench = Bench(floors={"flights": floor(300)})
    bench.settle()
    assert bench.state.settled_until is None


def test_a_table_that_was_left_behind_goes_on_and_says_which_intervals_lack_records() -> None:
    bench = Bench(minutes=60)
    bench.settle()
    behind = bench.state.settled_until
    assert behind is not None
    bench.minutes, bench.floors = 120, {"weather": floor(55)}
    bench.settle()
    assert bench.entry().since == behind
    assert bench.entry().lossy == (LossyRange(behind, NOW + 60 * MINUTE, floor=floor(55)),)
    rows = bench.ledger.rows
    assert rows[behind].lossy
    assert rows[behind].dirty == ("records from before 2014-01-07 12:55 UTC were lost before they were read",)
    assert not rows[NOW + 60 * MINUTE].dirty
    assert timedelta() < NOW + 60 * MINUTE - behind


def test_a_floor_below_what_is_settled_says_nothing_of_what_is_not() -> None:
    bench = Bench(minutes=60)
    bench.settle()
    assert bench.state.settled_until is not None
    bench.minutes, bench.floors = 120, {"flights": floor(20)}
    bench.settle()
    assert not bench.entry().lossy
