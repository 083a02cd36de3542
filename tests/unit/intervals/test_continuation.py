"""Intervals that continue a state: what is wrong with one is said of all behind it, until they are computed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.backfill.repair import needed_repair
from sluice.intervals.carried import NO_STATE, Carried, LeftState
from sluice.intervals.continuation import continued
from sluice.intervals.entries import (
    BackfillEntry,
    Content,
    Entry,
    ExaminedSource,
    Logged,
    LossyRange,
    SettleEntry,
    from_json,
    to_json,
)
from sluice.intervals.ledger import Ledger, fold
from sluice.intervals.reach import Hole, Reach

HOUR = timedelta(hours=1)
NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
FURTHEST = Reach({"flights/0": 1_000}, ("f",))


def hour(number: int) -> datetime:
    return NOON + number * HOUR


def state(digest: str) -> Mapping[str, str]:
    return {"balances": digest} if digest else {}


@dataclass
class Chain:
    """A table's log. Each interval leaves what it continues and its own letter, as a sum over all before it would."""

    entries: list[Logged] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        self.entries.append(Logged(len(self.entries), NOON, entry))

    @property
    def end(self) -> Mapping[str, int]:
        """How far the topic was read for the next entry."""
        return {"flights/0": len(self.entries) + 1}

    @property
    def ledger(self) -> Ledger:
        return fold(self.entries, HOUR, FURTHEST)

    def computed(self, number: int) -> Carried:
        before = continued(self.ledger.spans, hour(number)).digests
        return Carried(before, state(before.get("balances", "") + self.letters[number]))

    def settle(self, letter: str, *, overtaken: tuple[int, ...] = (), lossy: tuple[LossyRange, ...] = ()) -> None:
        self.letters.append(letter)
        number = len(self.letters) - 1
        carried = {hour(number): self.computed(number)} if letter else {}
        content = {hour(number): Content(1, letter)} if letter else {}
        marks = {hour(each): self.end for each in overtaken}
        sources = {"flights": ExaminedSource(self.end, ("f",))}
        since, until = hour(number), hour(number + 1)
        self.add(
            SettleEntry(
                "settle:x", 1, "n", since, until, sources, content, overtaken=marks, lossy=lossy, carried=carried
            )
        )

    def recompute(self, number: int, letter: str) -> None:
        self.letters[number] = letter
        at, carried = hour(number), self.computed(number)
        content = {at: Content(1, letter)}
        self.add(
            BackfillEntry(
                "b1", "recompute", "me", "", self.end, {}, content, "c", "", topics=("f",), carried={at: carried}
            )
        )

    @property
    def dirty(self) -> list[int]:
        return [(row.interval.start - NOON) // HOUR for row in self.ledger.spans if row.dirty]

    def repair(self) -> list[int]:
        """Recompute what a repair takes, in order, and return it."""
        repair = needed_repair(self.ledger, "c")
        taken = [] if repair is None else [(row.interval.start - NOON) // HOUR for row in repair.rows]
        for number in taken:
            self.recompute(number, self.letters[number] or "late")
        return taken


def test_an_interval_without_rows_that_leaves_a_state_is_like_no_other() -> None:
    left = Carried(NO_STATE.digests, state("a"))
    sources = {"flights": ExaminedSource({"flights/0": 1}, ("f",))}
    entry = SettleEntry("settle:x", 1, "n", NOON, hour(5), sources, carried={hour(2): left})
    ledger = fold([Logged(0, NOON, entry)], HOUR)
    assert [(row.count, row.carried) for row in ledger.spans] == [(2, None), (1, left), (2, None)]


def test_an_interval_continues_the_newest_before_it_that_has_left_a_state() -> None:
    chain = Chain()
    for letter in ("a", "", "c"):
        chain.settle(letter)
    rows = chain.ledger.spans
    assert continued(rows, NOON) == NO_STATE
    assert continued(rows, hour(2)) == LeftState(NOON, state("a"))
    assert continued(rows, hour(3)) == LeftState(hour(2), state("ac"))


def test_one_that_was_computed_again_makes_all_behind_it_dirty_and_the_same_state_none() -> None:
    chain = Chain()
    for letter in "abcd":
        chain.settle(letter)
    chain.recompute(1, "b")
    assert chain.dirty == []
    chain.recompute(1, "x")
    assert chain.dirty == [2, 3]
    rows = chain.ledger.rows
    assert rows[hour(3)].dirty == ("it continues the state of 2013-01-01T13:00Z, which was computed again since",)
    assert rows[hour(3)].marks == ()
    chain.recompute(2, "c")
    assert chain.dirty == [3]
    chain.recompute(3, "d")
    assert chain.dirty == []


def test_records_that_came_after_their_interval_dirty_all_behind_it_and_one_repair_makes_all_good() -> None:
    chain = Chain()
    for letter in "abc":
        chain.settle(letter)
    chain.settle("d", overtaken=(1,))
    assert chain.dirty == [1, 2, 3]
    rows = chain.ledger.rows
    assert rows[hour(1)].marks
    assert rows[hour(2)].dirty == ("it continues the state of 2013-01-01T13:00Z, which is dirty",)
    assert chain.repair() == [1, 2, 3]
    assert chain.dirty == []


def test_an_interval_without_records_that_gets_some_breaks_the_chain_behind_it() -> None:
    chain = Chain()
    for letter in ("a", "", "c"):
        chain.settle(letter)
    chain.settle("d", overtaken=(1,))
    assert chain.dirty == [1, 2, 3]
    assert chain.repair() == [1, 2, 3]
    assert chain.dirty == []
    assert continued(chain.ledger.spans, hour(4)).digests == state("alatecd")


def test_what_is_lost_for_good_is_said_of_all_behind_it_and_never_repaired() -> None:
    chain = Chain()
    chain.settle("a")
    chain.settle("b", lossy=(LossyRange(NOON, hour(1), Hole("f", "flights/0", 3, 5)),))
    assert chain.dirty == [0, 1]
    assert all(row.lossy for row in chain.ledger.spans)
    assert chain.repair() == []
    chain.settle("c", overtaken=(1,))
    assert chain.repair() == [1, 2], "one behind it can be repaired, and those behind that"
    assert chain.dirty == [0, 1, 2]
    assert chain.repair() == []


def test_entries_come_back_from_their_json() -> None:
    chain = Chain()
    chain.settle("a")
    chain.recompute(0, "b")
    for logged in chain.entries:
        assert from_json(to_json(logged.entry)) == logged.entry


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("settle"), st.sampled_from(["a", "b", ""]), st.integers(0, 9)),
        st.tuples(st.just("recompute"), st.sampled_from(["a", "b", "c"]), st.integers(0, 9)),
    ),
    max_size=14,
)


@given(_STEPS)
def test_no_interval_is_clean_that_is_not_what_its_chain_makes_of_it_and_repairs_end(
    steps: list[tuple[str, str, int]],
) -> None:
    chain = Chain()
    chain.settle("a")
    for kind, letter, number in steps:
        settled = len(chain.letters)
        if kind == "settle":
            overtaken = (number,) if number < settled - 1 else ()
            chain.settle(letter, overtaken=overtaken)
        else:
            chain.recompute(number % settled, letter)
        whole = ""
        dirty = set(chain.dirty)
        for place, own in enumerate(chain.letters):
            row = chain.ledger.rows.get(hour(place))
            whole += own
            if row is None or row.carried is None or place in dirty:
                continue
            assert row.carried.after == state(whole), "it is clean, so every interval before it is in its state"
    for _ in range(2):
        chain.repair()
    assert chain.dirty == []
