"""Where a settler goes on, by the log of its table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sluice.intervals.entries import Content, Logged, StreamEntry
from sluice.intervals.reach import Reach
from sluice.settling.rules import SettlingRules
from sluice.settling.state import settled_state

HOUR = timedelta(hours=1)
START = datetime(2013, 1, 7, tzinfo=UTC)
WRITTEN = START + timedelta(days=3)
RULES = {"flights": SettlingRules(HOUR, HOUR, arrival_disorder=HOUR / 2)}


def appended(batch: int, closed: datetime) -> Logged:
    """Return a commit of a version that wrote tables by appending."""
    starts, ends = {"flights/0": 10 * batch}, {"flights/0": 10 * batch + 10}
    added = {START: Content(1, "7")} if not batch else {}
    entry = StreamEntry("flights:id:0", 1, "a", batch, starts, ends, closed_until=closed, content=added)
    return Logged(batch, WRITTEN + batch * HOUR, entry)


def test_a_table_that_was_only_appended_to_is_settled_as_far_as_it_was_closed() -> None:
    log = [appended(0, START + HOUR), appended(1, START + 2 * HOUR)]
    state = settled_state(reversed(log), 7, RULES)
    assert (state.version, state.settled_until, state.decided_at) == (7, START + 2 * HOUR, 1)
    source = state.source("flights")
    assert source.offsets == {"flights/0": 20}
    assert source.clocks.base == START + 2 * HOUR + RULES["flights"].margin
    assert source.clocks.lead == source.clocks.base - log[1].at


def test_a_table_that_nothing_was_written_to_begins_where_the_pipeline_does() -> None:
    beginning = {"flights": Reach({"flights/0": 5}, ("id",))}
    state = settled_state([], 2, RULES, beginning)
    assert (state.version, state.settled_until, state.decided_at) == (2, None, -1)
    assert state.source("flights").reach == beginning["flights"]
    assert replace(state, sources={}) == settled_state([], 2, RULES)
