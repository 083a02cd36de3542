"""A settler of two topics, round by round: what the histories of the simulation found, each alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count

from sluice.intervals.alignment import Interval
from sluice.intervals.carried import Carried
from sluice.intervals.entries import AdvanceEntry, Content, Entry, Logged, SettleEntry
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.settling.examination import Examination, RecordTimes, examined
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import RoundOutcome, Settler, SettlerIdentity
from sluice.settling.state import settled_state
from tests.twins.clock import ManualClock

NOW = datetime.fromisoformat("2014-01-07T12:00+00:00")
MINUTE = timedelta(minutes=1)
TEN = 10 * MINUTE
FLIGHTS = SettlingRules(TEN, 5 * MINUTE, max_advance=60 * MINUTE)
WEATHER = SettlingRules(TEN, 30 * MINUTE, max_advance=60 * MINUTE, idle=8 * MINUTE)
BOTH = {"flights": FLIGHTS, "weather": WEATHER}


@dataclass
class OnePartition:
    """A topic of one partition, all of it in its raw table. Implements `sluice.settling.ports.RawSource`.

    Attributes:
        name: of the topic.
        rules: of it.
        times: of its records: when each arrived.
        late: how long before that each happened.
        beside: what happens right before it is read.
    """

    name: str
    rules: SettlingRules
    times: list[datetime] = field(default_factory=list)
    late: timedelta = timedelta()
    beside: Callable[[], None] = lambda: None

    def pin(self) -> RawPosition:
        self.beside()
        return RawPosition(len(self.times), self.listed_ends()) if self.times else RawPosition()

    def listed_ends(self) -> Reach:
        return Reach({f"{self.name}/0": len(self.times)}, (f"id of {self.name}",))

    def examine(self, pinned: RawPosition, since: Reach, settled_until: datetime | None) -> Examination:
        partition = f"{self.name}/0"
        offsets = range(since.offsets.get(partition, 0), pinned.reach.offsets[partition])
        records = (RecordTimes(partition, each, self.times[each] - self.late, self.times[each]) for each in offsets)
        return examined(records, pinned.reach.offsets, self.rules, settled_until)

    def around(self, pinned: RawPosition, hole: Hole) -> tuple[datetime | None, datetime | None]:
        raise NotImplementedError


@dataclass(frozen=True)
class NoRows:
    """Implements `sluice.settling.ports.Staged`."""

    content: Mapping[datetime, Content] = field(default_factory=dict)
    carried: Mapping[datetime, Carried] = field(default_factory=dict)

    def discard(self) -> None:
        return


class NothingComputed:
    """Implements `sluice.settling.ports.Computation`."""

    def __init__(self) -> None:
        self.static: Mapping[str, str] = {"airlines": "before"}

    def renewed(self) -> NothingComputed:
        self.static = {"airlines": "now"}
        return self

    def bounded(self, pinned: Mapping[str, RawPosition], intervals: Interval) -> Interval:
        assert pinned
        return intervals

    def compute(self, pinned: Mapping[str, RawPosition], below: Mapping[str, Reach], intervals: Interval) -> NoRows:
        assert pinned.keys() == below.keys() == BOTH.keys()
        assert intervals.start < intervals.end
        return NoRows()


@dataclass
class OnlyLog:
    """A table of which there is only the log. Implements `sluice.settling.ports.SettledTable`."""

    log: list[Logged] = field(default_factory=list)

    def open(self) -> None:
        return

    def put(self, entry: Entry) -> None:
        self.log.append(Logged(len(self.log), NOW, entry))

    def read(self) -> SettledState:
        return settled_state(reversed(self.log), len(self.log) - 1, BOTH)

    def commit(self, state: SettledState, entry: SettleEntry, rows: NoRows | None) -> bool:
        assert state.version == len(self.log) - 1
        assert rows is None or not rows.content
        self.put(entry)
        return True

    def holds(self, state: SettledState, entry: SettleEntry) -> bool:
        raise NotImplementedError


@dataclass
class Scene:
    """A settler and what surrounds it."""

    flights: OnePartition
    weather: OnePartition
    table: OnlyLog = field(default_factory=OnlyLog)
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    rules: Mapping[str, SettlingRules] = field(default_factory=lambda: BOTH)

    def __post_init__(self) -> None:
        names = (f"n{number}" for number in count())
        author, raw = SettlerIdentity("settle:p", 1, "c"), {"flights": self.flights, "weather": self.weather}
        clock, nonce = self.clock, lambda: next(names)
        self._settler: Settler[NoRows] = Settler(
            author, self.rules, raw, NothingComputed(), self.table, clock=clock, nonce=nonce
        )

    def rounds(self, minutes: float, rounds: int = 4) -> datetime | None:
        """Let the settler go on, so long after each round; return until when all is settled."""
        until = None
        for _ in range(rounds):
            until = self._settler.round().settled_until
            self.clock.sleep(60 * minutes)
        return until

    def outcome(self) -> RoundOutcome:
        return self._settler.round().outcome

    @property
    def entries(self) -> list[SettleEntry]:
        return [logged.entry for logged in self.table.log if isinstance(logged.entry, SettleEntry)]


def scene(flights: Sequence[int], weather: Sequence[int], rules: Mapping[str, SettlingRules] = BOTH) -> Scene:
    """Return one where records arrived so many minutes before now."""
    times = {"flights": flights, "weather": weather}
    each = [OnePartition(name, rules[name], [NOW - ago * MINUTE for ago in own]) for name, own in times.items()]
    return Scene(*each, rules=rules)


def test_an_interval_is_settled_once_both_topics_have_passed_it_each_by_its_own_margin() -> None:
    assert scene([60, 0], [60, 0]).rounds(0) == NOW - 3 * TEN
    assert scene([60, 0], [60, 15]).rounds(0) == NOW - 5 * TEN, "weather stands at 11:45, and may be half an hour late"
    assert scene([60, 25], [60, 0]).rounds(0) == NOW - 3 * TEN


def test_a_topic_without_records_is_waited_for_until_it_has_been_silent_for_long_enough() -> None:
    empty = scene([60, 0], [])
    assert empty.rounds(3, rounds=3) is None
    assert empty.rounds(3, rounds=2) is not None


def test_what_comes_first_to_a_topic_that_was_empty_is_not_too_late() -> None:
    empty = scene([60, 0], [])
    assert empty.rounds(9) == NOW - 3 * TEN, "of what arrives now something may have happened at half past eleven"
    empty.weather.times.append(NOW)
    empty.weather.late = WEATHER.allowed_lateness
    assert empty.outcome() is RoundOutcome.WAITING
    assert all(not entry.overtaken for entry in empty.entries)


def test_a_topic_to_which_something_comes_while_the_other_is_read_is_not_empty() -> None:
    flights, weather = OnePartition("flights", FLIGHTS, [NOW - 60 * MINUTE, NOW]), OnePartition("weather", WEATHER)
    both = Scene(flights, weather, rules={"weather": WEATHER, "flights": FLIGHTS})
    both.rounds(9, rounds=1)
    weather.late = WEATHER.allowed_lateness

    def meanwhile() -> None:
        weather.times.append(NOW + 9 * MINUTE)
        flights.times.append(NOW + 50 * MINUTE)
        flights.beside = lambda: None

    flights.beside = meanwhile
    assert both.outcome() is RoundOutcome.WAITING
    assert both.rounds(0) == NOW - 3 * TEN, "half an hour before weather's clock"
    assert all(not entry.overtaken for entry in both.entries)


def test_a_settlement_says_which_static_inputs_it_was_made_with_and_a_mark_says_none() -> None:
    both = scene([60, 0], [60, 0])
    both.rounds(0)
    assert [entry.static for entry in both.entries] == [{"airlines": "now"}]
    both.flights.late, both.weather.late = 4 * MINUTE, 29 * MINUTE
    both.flights.times.append(NOW - 40 * MINUTE)
    both.rounds(0)
    assert [(entry.static, bool(entry.overtaken)) for entry in both.entries[1:]] == [({}, True)]


def test_two_topics_without_records_settle_nothing() -> None:
    assert scene([], []).rounds(9) is None


def test_a_confirmation_for_one_topic_lasts_until_the_other_lets_something_be_settled() -> None:
    paused = scene([600, 0], [600])
    assert paused.rounds(0) is None
    (held,) = paused.table.read().unconfirmed["flights/0"]
    assert held.first == NOW
    paused.table.put(AdvanceEntry(NOW, "ann", "the topic was paused"))
    assert paused.rounds(0) is None, "weather has come no further"
    assert paused.table.read().unconfirmed == {}
    paused.weather.times += [NOW - ago * MINUTE for ago in range(560, 0, -40)]
    assert paused.rounds(0) == NOW - 7 * TEN


def lone_weather() -> Scene:
    """Return one where the only record of weather lies nine hours ahead of the flights, and nothing is settled."""
    both = scene([600, 570, 540], [0], {**BOTH, "weather": replace(WEATHER, idle=None)})
    assert both.rounds(0) is None
    (held,) = both.table.read().unconfirmed["weather/0"]
    assert held.first == NOW
    assert len(both.entries) == 1, "a round in which nothing changes leaves nothing in the log"
    return both


def test_a_first_record_of_the_future_settles_nothing_of_the_other_topic() -> None:
    both = lone_weather()
    both.weather.times += [NOW - 600 * MINUTE, NOW - 540 * MINUTE]
    assert both.rounds(0) == NOW - 570 * MINUTE, "weather stands where its other records are, and may be late"
    assert all(not entry.overtaken for entry in both.entries)


def test_a_second_arrival_time_of_a_topic_bears_out_that_it_begins_later() -> None:
    both = lone_weather()
    both.weather.times.append(NOW + MINUTE)
    assert both.rounds(0) == NOW - 550 * MINUTE


def test_the_other_topic_bears_out_a_beginning_once_it_has_come_as_far() -> None:
    both = lone_weather()
    both.flights.times += [NOW - ago * MINUTE for ago in range(510, 50, -40)]
    assert both.rounds(0) is None, "seventy minutes are missing"
    both.flights.times.append(NOW - 50 * MINUTE)
    assert both.rounds(0) == NOW - 60 * MINUTE


def test_a_person_bears_out_a_beginning() -> None:
    both = lone_weather()
    both.table.put(AdvanceEntry(NOW, "ann", "the weather begins today"))
    assert both.rounds(0) == NOW - 550 * MINUTE


def test_silence_bears_out_a_beginning_where_it_counts() -> None:
    both = scene([600, 570, 540], [0])
    assert both.rounds(0) is None
    assert both.rounds(9) == NOW - 550 * MINUTE, "`idle` says that arrival times are of now"


def test_nothing_is_settled_by_a_raw_table_that_lacks_what_was_examined() -> None:
    both = scene([60, 0], [60, 0])
    both.rounds(0)
    entries, lost = both.entries, both.weather.times.pop()
    assert both.outcome() is RoundOutcome.RAW_BEHIND
    assert both.entries == entries
    both.weather.times += [lost, NOW + 40 * MINUTE]
    both.flights.times.append(NOW + 40 * MINUTE)
    assert both.rounds(0) == NOW + TEN
