"""Where a settler goes on, by the log of its table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sluice.intervals.arrivals import ArrivalClocks, ArrivalSpan
from sluice.intervals.entries import (
    AdvanceEntry,
    AttemptEntry,
    BackfillEntry,
    Entry,
    ExaminedSource,
    Logged,
    WithdrawnEntry,
)
from sluice.intervals.reach import Reach
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules
from sluice.settling.state import settled_state
from tests.settlements import SETTLER, settlement

HOUR = timedelta(hours=1)
START = datetime(2013, 1, 7, tzinfo=UTC)
RULES = {"flights": SettlingRules(HOUR, HOUR, arrival_disorder=HOUR / 2)}
FAR = ArrivalSpan(START + 99 * HOUR, START + 99 * HOUR)
CLOCKS = ArrivalClocks({"flights/0": START + 9 * HOUR}, {"flights/0": (FAR,)}, -HOUR)
SETTLED = replace(
    settlement(START, START + 4 * HOUR, {START: 1}, read={"flights/0": 20}),
    sources={"flights": ExaminedSource({"flights/0": 20}, ("id",), CLOCKS)},
)


def state_after(*entries: Entry) -> SettledState:
    log = [Logged(version, START, entry) for version, entry in enumerate(entries)]
    return settled_state(reversed(log), 7, RULES)


def test_a_table_that_nothing_was_written_to_begins_where_the_pipeline_does() -> None:
    beginning = {"flights": Reach({"flights/0": 5}, ("id",))}
    state = settled_state([], 2, RULES, beginning)
    assert (state.version, state.settled_until, state.decided_at) == (2, None, -1)
    assert state.source("flights").reach == beginning["flights"]
    assert replace(state, sources={}) == settled_state([], 2, RULES)


def test_it_goes_on_where_the_newest_settlement_ended_whatever_others_wrote_since() -> None:
    before = settlement(START - HOUR, START, read={"flights/0": 9})
    published = BackfillEntry("b", "recompute", "ann", "", {"flights/0": 99}, {}, {}, "c", "")
    state = state_after(before, SETTLED, published, AttemptEntry(SETTLER, 2))
    assert state == SettledState(7, START + 4 * HOUR, SETTLED.sources, SETTLED.nonce, decided_at=1)


def test_a_withdrawal_opens_what_is_behind_it_and_the_clocks_stand_where_it_was_complete() -> None:
    state = state_after(SETTLED, WithdrawnEntry(START + HOUR, "ann", "wrong"))
    assert (state.settled_until, state.decided_at) == (START + HOUR, 1)
    assert state.source("flights").clocks.newest == START + HOUR + RULES["flights"].margin
    assert state.source("flights").offsets == {"flights/0": 20}
    later = state_after(SETTLED, WithdrawnEntry(START + 4 * HOUR, "ann", "wrong"))
    assert (later.settled_until, later.sources) == (START + 4 * HOUR, SETTLED.sources), "nothing is settled behind it"


def test_what_a_person_said_last_of_a_long_advance_counts() -> None:
    assert state_after(SETTLED, AdvanceEntry(FAR.last, "ann", "so")).believed_until == FAR.last
    assert state_after(SETTLED).unconfirmed == {"flights/0": (FAR,)}
    refused = state_after(SETTLED, AdvanceEntry(FAR.last, "ann", "so"), AdvanceEntry(None, "ann", "no"))
    assert refused.unconfirmed == {}
    assert refused.decided_at == 2
    assert state_after(AdvanceEntry(FAR.last, "ann", "so"), SETTLED).believed_until is None, "it was settled by it"
    assert state_after(AdvanceEntry(FAR.last, "ann", "so")).believed_until == FAR.last, "nothing was settled yet"
