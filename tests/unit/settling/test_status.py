"""What a settler says of itself: how far it is, what is due, since when, and what holds it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.arrivals import ArrivalClocks, ArrivalSpan
from sluice.intervals.entries import Logged, SettleEntry, from_json, to_json
from sluice.settling.completeness import Completeness, completeness
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import Round, RoundOutcome
from sluice.settling.state import settled_state
from sluice.settling.status import (
    HeldAdvance,
    SettlingStatus,
    from_record,
    is_decided,
    status_after,
    status_of_log,
    to_record,
)
from sluice.settling.wording import next_text, settling_lines

START = datetime(2013, 1, 7, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = 60 * MINUTE
RULES = SettlingRules(HOUR, 3 * HOUR, HOUR / 4)
AT = datetime(2013, 1, 8, tzinfo=UTC)


def clocks(*hours: float, unconfirmed: dict[str, tuple[ArrivalSpan, ...]] | None = None) -> ArrivalClocks:
    """Return the clocks of the partitions t/0, t/1 and so on, in hours after START."""
    return ArrivalClocks({f"t/{n}": START + hour * HOUR for n, hour in enumerate(hours)}, unconfirmed or {})


def waiting(
    settled: float | None, complete: Completeness, clocks: ArrivalClocks, *, first: float | None = None
) -> Round:
    until = None if settled is None else START + settled * HOUR
    begin = until if first is None else START + first * HOUR
    return Round(RoundOutcome.WAITING, until, complete, begin, clocks)


def test_of_a_topic_without_records_nothing_is_due_and_nothing_is_known() -> None:
    status = status_after(None, Round(RoundOutcome.WAITING, None), RULES, AT)
    assert status == SettlingStatus(AT, declared_disorder=HOUR / 4)


def test_before_the_first_interval_is_complete_nothing_is_due_and_it_is_known_what_completes_it() -> None:
    done = waiting(None, Completeness(START + HOUR), clocks(1), first=0)
    status = status_after(None, done, RULES, AT)
    assert (status.due, status.due_since, status.oldest_due) == (0, None, None)
    assert status.next_at == START + 4.25 * HOUR, "its end, the lateness that is allowed, and the disorder"


def test_what_the_newest_arrival_completes_is_due_if_a_partition_holds_it() -> None:
    done = waiting(2, Completeness(START + 5 * HOUR, ("t/1",)), clocks(9, 5))
    status = status_after(None, done, RULES, AT)
    assert (status.due, status.oldest_due, status.due_since) == (3, START + 2 * HOUR, AT)
    assert (status.unread, status.complete, status.newest) == (("t/1",), START + 5 * HOUR, START + 9 * HOUR)
    assert (status.overdue, status.next_at) == (2.75 * HOUR, START + 9.25 * HOUR)
    due = status.due_intervals(HOUR)
    assert due is not None
    assert (due.start, due.end) == (START + 2 * HOUR, START + 5 * HOUR)


def test_unread_partitions_hold_nothing_where_nothing_is_due() -> None:
    done = waiting(6, Completeness(START + 8.9 * HOUR, ("t/1",)), clocks(9, 8.9))
    status = status_after(None, done, RULES, AT)
    assert (status.due, status.unread, status.due_since) == (0, (), None)


HELD = waiting(2, Completeness(START + 5 * HOUR, ("t/1",)), clocks(9, 5))


def test_it_is_remembered_since_when_nothing_moves_and_a_settlement_or_a_later_clock_begins_anew() -> None:
    first = status_after(None, HELD, RULES, AT)
    more = replace(HELD, clocks=clocks(12, 5))
    second = status_after(first, more, RULES, AT + MINUTE)
    assert (second.due, second.due_since) == (6, AT), "more has become due, and none of it was settled"
    settled = status_after(second, replace(HELD, settled_until=START + 3 * HOUR), RULES, AT + 2 * MINUTE)
    assert settled.due_since == AT + 2 * MINUTE
    further = replace(HELD, completeness=Completeness(START + 5.1 * HOUR, ("t/1",)))
    assert status_after(second, further, RULES, AT + 3 * MINUTE).due_since == AT + 3 * MINUTE, "a backlog is read"
    back = replace(HELD, completeness=Completeness(None, ("t/1", "t/2")))
    assert status_after(second, back, RULES, AT + 4 * MINUTE).due_since == AT


def test_what_is_due_no_more_is_forgotten() -> None:
    first = status_after(None, HELD, RULES, AT)
    none = status_after(first, waiting(5, Completeness(START + 9 * HOUR), clocks(9, 9)), RULES, AT + MINUTE)
    assert (none.due, none.due_since) == (0, None)
    assert status_after(none, HELD, RULES, AT + HOUR).due_since == AT + HOUR


YEAR = ArrivalSpan(START + timedelta(days=365), START + timedelta(days=365))


def test_the_earliest_arrival_time_that_does_not_count_is_named_with_its_partition() -> None:
    later = ArrivalSpan(YEAR.first + HOUR, YEAR.first + HOUR)
    held = clocks(5, 5, unconfirmed={"t/0": (later,), "t/1": (YEAR,)})
    status = status_after(None, waiting(1, Completeness(START + 5 * HOUR), held), RULES, AT)
    assert status.advance == HeldAdvance("t/1", YEAR.first)
    assert status.due == 0, "an advance that does not count makes nothing due"


def test_an_advance_that_the_records_to_be_examined_may_bear_out_is_not_reported_yet() -> None:
    done = waiting(1, Completeness(START + 5 * HOUR), clocks(5, 5, unconfirmed={"t/1": (YEAR,)}))
    examining = replace(done, outcome=RoundOutcome.EXAMINING)
    assert status_after(None, examining, RULES, AT).advance is None
    held = status_after(None, done, RULES, AT)
    assert held.advance is not None
    assert status_after(held, examining, RULES, AT).advance == held.advance, "it was reported, and is not borne out"
    assert status_after(held, replace(examining, clocks=clocks(5, 5)), RULES, AT).advance is None


def test_before_the_first_round_the_log_says_how_far_it_is_and_not_what_is_unread() -> None:
    state = SettledState(7, START + 2 * HOUR, clocks=clocks(9, 5, unconfirmed={"t/1": (YEAR,)}), disorder=MINUTE)
    status = status_of_log(state, RULES, AT)
    assert (status.settled_until, status.due, status.due_since) == (START + 2 * HOUR, 3, AT)
    assert (status.complete, status.unread, status.disorder) == (None, (), MINUTE)
    assert status.advance == HeldAdvance("t/1", YEAR.first)
    assert status_of_log(SettledState(0), RULES, AT) == SettlingStatus(AT, declared_disorder=HOUR / 4)


def test_a_person_has_decided_if_the_advance_is_confirmed_or_gone_from_the_log() -> None:
    held, advance = clocks(5, unconfirmed={"t/1": (YEAR,)}), HeldAdvance("t/1", YEAR.first)
    undecided = SettledState(7, START, clocks=held)
    assert not is_decided(advance, undecided)
    assert not is_decided(advance, replace(undecided, believed_until=YEAR.first - MINUTE))
    assert is_decided(advance, replace(undecided, believed_until=YEAR.first))
    assert is_decided(advance, replace(undecided, clocks=clocks(5)))


def test_the_greatest_disorder_is_kept_in_the_log() -> None:
    entry = SettleEntry("settle:p", 1, "n", START, START, {"t/0": 4}, disorder=MINUTE)
    read = from_json(to_json(entry))
    assert read == entry
    assert settled_state([Logged(3, AT, entry)], 3, RULES).disorder == MINUTE
    of_before = to_json(entry).replace('"disorder":"PT1M",', "")
    assert from_json(of_before) == replace(entry, disorder=timedelta()), "an entry of before reads as it did"


hours = st.integers(0, 400).map(lambda n: n / 10)
partitions = st.dictionaries(st.sampled_from(["t/0", "t/1", "t/2"]), st.tuples(st.none() | hours, st.booleans()))


@given(partitions, hours)
def test_what_is_due_and_not_complete_is_held_by_a_partition_that_is_named(
    drawn: dict[str, tuple[float | None, bool]], settled: float
) -> None:
    times = {name: START + hour * HOUR for name, (hour, _) in drawn.items() if hour is not None}
    read, listed = dict.fromkeys(drawn, 7), {name: 7 + unread for name, (_, unread) in drawn.items()}
    complete = completeness(ArrivalClocks(times), read, listed)
    begin = RULES.complete_until(START + settled * HOUR)
    done = Round(RoundOutcome.WAITING, begin, complete, begin, ArrivalClocks(times))
    status = status_after(None, done, RULES, AT)
    is_complete = complete.clock is not None and RULES.complete_until(complete.clock) > begin
    if status.due and not is_complete:
        assert status.unread
    if is_complete:
        assert status.due
    assert (status.due > 0) == (status.due_since is not None) == (status.oldest_due is not None)
    assert status.next_at is not None
    assert status.newest is None or status.next_at > status.newest, "what is not due waits for a later arrival"


moments = st.timedeltas(timedelta(days=-10_000), timedelta(days=10_000)).map(lambda after: START + after)
times = st.none() | moments
lengths = st.timedeltas(timedelta(), timedelta(days=400))
statuses = st.builds(
    SettlingStatus,
    at=moments,
    settled_until=times,
    complete=times,
    newest=times,
    due=st.integers(0, 10_000),
    oldest_due=times,
    overdue=lengths,
    due_since=times,
    next_at=times,
    unread=st.lists(st.text(max_size=5), max_size=3).map(tuple),
    advance=st.none() | st.builds(HeldAdvance, st.text(max_size=5), moments),
    disorder=lengths,
    declared_disorder=lengths,
)


@given(statuses)
def test_a_status_survives_its_record(status: SettlingStatus) -> None:
    assert from_record(json.loads(json.dumps(to_record(status)))) == status


def test_a_record_of_something_else_is_none() -> None:
    assert from_record({"at": "yesterday"}) is from_record([]) is from_record(None) is from_record({}) is None
    assert from_record({**to_record(SettlingStatus(AT)), "of a later version": 3}) == SettlingStatus(AT)


SILENT = replace(RULES, idle=10 * MINUTE)


def test_a_silent_source_says_for_how_long_and_what_its_silence_will_complete() -> None:
    done = waiting(6, Completeness(START + 9.5 * HOUR, silence=HOUR / 2), clocks(9))
    status = status_after(None, done, SILENT, AT)
    assert (status.due, status.silence, status.idle) == (0, HOUR / 2, 10 * MINUTE)
    assert (status.next_at, status.next_silence) == (START + 10.25 * HOUR, 1.25 * HOUR)
    assert from_record(json.loads(json.dumps(to_record(status)))) == status
    first, second, *_ = settling_lines(status, "departures")
    assert first.endswith("nothing was appended for 30 min, so 2013-01-07 09:30:00 UTC counts.")
    assert second.endswith("2013-01-07 10:15:00 UTC, or when nothing has arrived for 75 min.")
    assert next_text(status).endswith(
        "(the newest is of 2013-01-07 09:00:00 UTC), or when nothing has arrived for 75 min"
    )


def test_silence_counts_only_from_its_least_length_on_and_where_it_is_declared() -> None:
    nearly = waiting(6, Completeness(START + 10.2 * HOUR), clocks(10.2))
    assert status_after(None, nearly, SILENT, AT).next_silence == 10 * MINUTE
    without = status_after(None, nearly, RULES, AT)
    assert without.next_silence is None
    assert next_text(without).endswith("UTC)")


def test_what_was_settled_in_silence_is_not_due_again() -> None:
    status = status_after(None, waiting(7, Completeness(START + 10.25 * HOUR), clocks(9)), SILENT, AT)
    assert (status.due, status.next_at) == (0, START + 11.25 * HOUR)
