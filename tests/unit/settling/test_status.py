"""What a settler says of itself: how far it is, what is due, since when, and what holds it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.arrivals import ArrivalClocks, ArrivalSpan
from sluice.intervals.entries import ExaminedSource, Logged, SettleEntry, from_json, to_json
from sluice.settling.completeness import NOTHING_KNOWN, Completeness, completeness
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import Round, RoundOutcome, SourceProgress
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
OF_ONE = {"t": RULES}
AT = datetime(2013, 1, 8, tzinfo=UTC)


def clocks(*hours: float, unconfirmed: dict[str, tuple[ArrivalSpan, ...]] | None = None) -> ArrivalClocks:
    """Return the clocks of the partitions t/0, t/1 and so on, in hours after START."""
    return ArrivalClocks({f"t/{n}": START + hour * HOUR for n, hour in enumerate(hours)}, unconfirmed or {})


def standing(complete: Completeness, clocks: ArrivalClocks) -> SourceProgress:
    return SourceProgress(ExaminedSource(clocks=clocks), complete)


def waiting(
    settled: float | None, complete: Completeness, clocks: ArrivalClocks, *, first: float | None = None
) -> Round:
    until = None if settled is None else START + settled * HOUR
    begin = until if first is None else START + first * HOUR
    return Round(RoundOutcome.WAITING, until, begin, {"t": standing(complete, clocks)})


def test_of_a_topic_without_records_nothing_is_due_and_nothing_is_known() -> None:
    status = status_after(None, Round(RoundOutcome.WAITING, None), OF_ONE, AT)
    assert status == SettlingStatus(AT, declared_disorder=HOUR / 4)


def test_before_the_first_interval_is_complete_nothing_is_due_and_it_is_known_what_completes_it() -> None:
    done = waiting(None, Completeness(START + HOUR), clocks(1), first=0)
    status = status_after(None, done, OF_ONE, AT)
    assert (status.due, status.due_since, status.oldest_due) == (0, None, None)
    assert status.next_at == START + 4.25 * HOUR, "its end, the lateness that is allowed, and the disorder"


def test_what_the_newest_arrival_completes_is_due_if_a_partition_holds_it() -> None:
    done = waiting(2, Completeness(START + 5 * HOUR, ("t/1",)), clocks(9, 5))
    status = status_after(None, done, OF_ONE, AT)
    assert (status.due, status.oldest_due, status.due_since) == (3, START + 2 * HOUR, AT)
    assert (status.unread, status.complete, status.newest) == (("t/1",), START + 5 * HOUR, START + 9 * HOUR)
    assert (status.overdue, status.next_at) == (2.75 * HOUR, START + 9.25 * HOUR)
    due = status.due_intervals(HOUR)
    assert due is not None
    assert (due.start, due.end) == (START + 2 * HOUR, START + 5 * HOUR)


def test_unread_partitions_hold_nothing_where_nothing_is_due() -> None:
    done = waiting(6, Completeness(START + 8.9 * HOUR, ("t/1",)), clocks(9, 8.9))
    status = status_after(None, done, OF_ONE, AT)
    assert (status.due, status.unread, status.due_since) == (0, (), None)


HELD = waiting(2, Completeness(START + 5 * HOUR, ("t/1",)), clocks(9, 5))


def test_it_is_remembered_since_when_nothing_moves_and_a_settlement_or_a_later_clock_begins_anew() -> None:
    first = status_after(None, HELD, OF_ONE, AT)
    more = waiting(2, Completeness(START + 5 * HOUR, ("t/1",)), clocks(12, 5))
    second = status_after(first, more, OF_ONE, AT + MINUTE)
    assert (second.due, second.due_since) == (6, AT), "more has become due, and none of it was settled"
    settled = status_after(second, replace(HELD, settled_until=START + 3 * HOUR), OF_ONE, AT + 2 * MINUTE)
    assert settled.due_since == AT + 2 * MINUTE
    further = waiting(2, Completeness(START + 5.1 * HOUR, ("t/1",)), clocks(9, 5))
    assert status_after(second, further, OF_ONE, AT + 3 * MINUTE).due_since == AT + 3 * MINUTE, "a backlog is read"
    back = waiting(2, Completeness(None, ("t/1", "t/2")), clocks(9, 5))
    assert status_after(second, back, OF_ONE, AT + 4 * MINUTE).due_since == AT


def test_what_is_due_no_more_is_forgotten() -> None:
    first = status_after(None, HELD, OF_ONE, AT)
    none = status_after(first, waiting(5, Completeness(START + 9 * HOUR), clocks(9, 9)), OF_ONE, AT + MINUTE)
    assert (none.due, none.due_since) == (0, None)
    assert status_after(none, HELD, OF_ONE, AT + HOUR).due_since == AT + HOUR


YEAR = ArrivalSpan(START + timedelta(days=365), START + timedelta(days=365))


def test_the_earliest_arrival_time_that_does_not_count_is_named_with_its_partition() -> None:
    later = ArrivalSpan(YEAR.first + HOUR, YEAR.first + HOUR)
    held = clocks(5, 5, unconfirmed={"t/0": (later,), "t/1": (YEAR,)})
    status = status_after(None, waiting(1, Completeness(START + 5 * HOUR), held), OF_ONE, AT)
    assert status.advance == HeldAdvance("t/1", YEAR.first)
    assert status.due == 0, "an advance that does not count makes nothing due"


def test_an_advance_that_the_records_to_be_examined_may_bear_out_is_not_reported_yet() -> None:
    done = waiting(1, Completeness(START + 5 * HOUR), clocks(5, 5, unconfirmed={"t/1": (YEAR,)}))
    examining = replace(done, outcome=RoundOutcome.EXAMINING)
    assert status_after(None, examining, OF_ONE, AT).advance is None
    held = status_after(None, done, OF_ONE, AT)
    assert held.advance is not None
    assert status_after(held, examining, OF_ONE, AT).advance == held.advance, "it was reported, and is not borne out"
    borne_out = replace(waiting(1, Completeness(START + 5 * HOUR), clocks(5, 5)), outcome=RoundOutcome.EXAMINING)
    assert status_after(held, borne_out, OF_ONE, AT).advance is None


def test_before_the_first_round_the_log_says_how_far_it_is_and_not_what_is_unread() -> None:
    examined = ExaminedSource(clocks=clocks(9, 5, unconfirmed={"t/1": (YEAR,)}), disorder=MINUTE)
    state = SettledState(7, START + 2 * HOUR, {"t": examined})
    status = status_of_log(state, OF_ONE, AT)
    assert (status.settled_until, status.due, status.due_since) == (START + 2 * HOUR, 3, AT)
    assert (status.complete, status.unread, status.disorder) == (None, (), MINUTE)
    assert status.advance == HeldAdvance("t/1", YEAR.first)
    assert status_of_log(SettledState(0), OF_ONE, AT) == SettlingStatus(AT, declared_disorder=HOUR / 4)


def test_a_person_has_decided_if_the_advance_is_confirmed_or_gone_from_the_log() -> None:
    held, advance = clocks(5, unconfirmed={"t/1": (YEAR,)}), HeldAdvance("t/1", YEAR.first)
    undecided = SettledState(7, START, {"t": ExaminedSource(clocks=held)})
    assert not is_decided(advance, undecided)
    assert not is_decided(advance, replace(undecided, believed_until=YEAR.first - MINUTE))
    assert is_decided(advance, replace(undecided, believed_until=YEAR.first))
    assert is_decided(advance, replace(undecided, sources={"t": ExaminedSource(clocks=clocks(5))}))


def test_the_greatest_disorder_is_kept_in_the_log() -> None:
    examined = ExaminedSource({"t/0": 4}, disorder=MINUTE)
    entry = SettleEntry("settle:p", 1, "n", START, START, {"t": examined})
    read = from_json(to_json(entry))
    assert read == entry
    assert settled_state([Logged(3, AT, entry)], 3, OF_ONE).source("t").disorder == MINUTE
    of_before = to_json(entry).replace('"disorder":"PT1M",', "")
    assert from_json(of_before) == replace(entry, sources={"t": replace(examined, disorder=timedelta())}), (
        "an entry of before reads as it did"
    )


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
    done = Round(RoundOutcome.WAITING, begin, begin, {"t": standing(complete, ArrivalClocks(times))})
    status = status_after(None, done, OF_ONE, AT)
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
    topic=st.sampled_from(["", "flights"]),
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
    status = status_after(None, done, {"t": SILENT}, AT)
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
    assert status_after(None, nearly, {"t": SILENT}, AT).next_silence == 10 * MINUTE
    without = status_after(None, nearly, OF_ONE, AT)
    assert without.next_silence is None
    assert next_text(without).endswith("UTC)")


def test_what_was_settled_in_silence_is_not_due_again() -> None:
    status = status_after(None, waiting(7, Completeness(START + 10.25 * HOUR), clocks(9)), {"t": SILENT}, AT)
    assert (status.due, status.next_at) == (0, START + 11.25 * HOUR)


WET = SettlingRules(HOUR, HOUR, HOUR / 2)
OF_TWO = {"t": RULES, "w": replace(WET, idle=10 * MINUTE)}


def of_two(settled: float, **sources: SourceProgress) -> Round:
    until = START + settled * HOUR
    return Round(RoundOutcome.WAITING, until, until, sources)


def wet(hour: float, complete: Completeness, **more: Any) -> SourceProgress:  # noqa: ANN401
    return SourceProgress(ExaminedSource(clocks=ArrivalClocks({"w/0": START + hour * HOUR}), **more), complete)


@pytest.mark.parametrize(
    ("dry_at", "wet_at", "behind", "due", "next_at"),
    [
        pytest.param(9, 8, "t", 3, 9.25, id="the one with the longer margin, though its records are later"),
        pytest.param(9, 6, "w", 2, 6.5, id="the one whose records are earlier by more than that"),
    ],
)
def test_of_two_topics_the_one_is_named_that_completes_fewer_intervals(
    dry_at: int, wet_at: int, behind: str, due: int, next_at: float
) -> None:
    dry = standing(Completeness(START + dry_at * HOUR), clocks(dry_at))
    done = of_two(2, t=dry, w=wet(wet_at, Completeness(START + wet_at * HOUR)))
    status = status_after(None, done, OF_TWO, AT)
    assert (status.topic, status.due, status.next_at) == (behind, due, START + next_at * HOUR)
    assert status.newest == START + (dry_at if behind == "t" else wet_at) * HOUR
    assert status.complete == START + min(dry_at, wet_at) * HOUR
    backwards = replace(done, sources=dict(reversed([*done.sources.items()])))
    assert status_after(None, backwards, dict(reversed(OF_TWO.items())), AT) == status


def test_partitions_of_both_topics_hold_what_is_due() -> None:
    dry = standing(Completeness(START + 4 * HOUR, ("t/1",)), clocks(9, 4))
    done = of_two(2, t=dry, w=wet(9, Completeness(None, ("w/1", "w/2"))))
    status = status_after(None, done, OF_TWO, AT)
    assert (status.due, status.unread, status.complete) == (3, ("t/1", "w/1", "w/2"), None)


def test_the_topic_in_the_worst_disorder_is_reported_with_what_it_declares() -> None:
    dry = SourceProgress(ExaminedSource(clocks=clocks(9), disorder=20 * MINUTE), Completeness(START + 9 * HOUR))
    done = of_two(5, t=dry, w=wet(9, Completeness(START + 9 * HOUR), disorder=25 * MINUTE))
    status = status_after(None, done, OF_TWO, AT)
    assert (status.disorder, status.declared_disorder) == (20 * MINUTE, 15 * MINUTE)
    assert status.exceeds_disorder, "though the greater disorder of the other topic is no more than it declares"


def test_an_advance_of_either_topic_is_held() -> None:
    dry = standing(Completeness(START + 5 * HOUR), clocks(5, unconfirmed={"t/0": (YEAR,)}))
    held = replace(ArrivalClocks({"w/0": START + 9 * HOUR}), unconfirmed={"w/0": (replace(YEAR, first=AT),)})
    ahead = SourceProgress(ExaminedSource(clocks=held), Completeness(START + 9 * HOUR))
    status = status_after(None, of_two(2, t=dry, w=ahead), OF_TWO, AT)
    assert status.advance == HeldAdvance("w/0", AT)
    state = SettledState(7, START, {"t": dry.examined, "w": ahead.examined})
    assert status_of_log(state, OF_TWO, AT).advance == HeldAdvance("w/0", AT)
    assert not is_decided(HeldAdvance("w/0", AT), replace(state, sources={"w": ahead.examined}))


def test_an_empty_topic_that_is_silent_holds_nothing_and_is_not_waited_for() -> None:
    dry = standing(Completeness(START + 6 * HOUR), clocks(6))
    silent = SourceProgress(complete=Completeness(None, silence=HOUR))
    status = status_after(None, of_two(2, t=dry, w=silent), OF_TWO, AT)
    assert (status.topic, status.due, status.complete) == ("t", 0, START + 6 * HOUR)
    assert status.next_at == START + 6.25 * HOUR
    waits = status_after(None, of_two(2, t=dry, w=SourceProgress()), OF_TWO, AT)
    assert (waits.topic, waits.newest, waits.complete) == ("w", None, None), "nobody knows yet whether it is silent"
    assert waits.next_at == START + 4.5 * HOUR
    unread = SourceProgress(complete=Completeness(None, ("w/0",)))
    assert status_after(None, of_two(2, t=dry, w=unread), OF_TWO, AT).topic == "w"
    longer = status_after(None, of_two(2, t=silent, w=wet(6, Completeness(START + 6 * HOUR))), OF_TWO, AT)
    assert (longer.topic, longer.due, longer.next_at) == ("w", 0, START + 6.25 * HOUR), "what comes may be so late"
    both = of_two(2, t=silent, w=silent)
    assert status_after(None, both, OF_TWO, AT).newest is None


def test_a_topic_whose_silence_completes_more_than_the_other_does_is_not_waited_for() -> None:
    dry = standing(Completeness(START + 6 * HOUR), clocks(6))
    silent = wet(3, Completeness(START + 5 * HOUR, silence=2 * HOUR))
    status = status_after(None, of_two(2, t=dry, w=silent), OF_TWO, AT)
    assert (status.topic, status.silence) == ("t", timedelta())
    sooner = wet(3, Completeness(START + 3.5 * HOUR, silence=HOUR / 2))
    status = status_after(None, of_two(2, t=dry, w=sooner), OF_TWO, AT)
    assert (status.topic, status.silence) == ("w", HOUR / 2)
    assert next(settling_lines(status, "departures")).endswith(
        "arrival times of w have reached 2013-01-07 03:00:00 UTC; nothing was appended for 30 min, "
        "so 2013-01-07 03:30:00 UTC counts."
    )


def test_the_log_of_two_topics_names_the_one_that_is_furthest_behind() -> None:
    examined = {"t": ExaminedSource(clocks=clocks(9)), "w": wet(4, NOTHING_KNOWN).examined}
    status = status_of_log(SettledState(7, START + 2 * HOUR, examined), OF_TWO, AT)
    assert (status.topic, status.newest, status.due) == ("w", START + 4 * HOUR, 0)
    begun = {"t": ExaminedSource(first_event=START + 5 * HOUR), "w": ExaminedSource(first_event=START + 3 * HOUR)}
    status = status_of_log(SettledState(7, None, begun), OF_TWO, AT)
    assert status.next_at == START + 7.25 * HOUR, "the first record of either begins the table"


def test_the_words_name_the_topic_that_is_waited_for_if_there_are_two() -> None:
    dry = standing(Completeness(START + 9 * HOUR), clocks(9))
    status = status_after(None, of_two(2, t=dry, w=wet(3, Completeness(START + 3 * HOUR))), OF_TWO, AT)
    first, second, *_ = settling_lines(status, "departures")
    assert first.endswith("; arrival times of w have reached 2013-01-07 03:00:00 UTC.")
    assert second.startswith("The next interval is complete when arrival times of w reach 2013-01-07 04:30:00 UTC")
    assert next_text(status).startswith(
        "the next interval waits for an arrival of w at 2013-01-07 04:30:00 UTC or later"
    )
    unknown = status_after(None, of_two(2, t=dry), OF_TWO, AT)
    assert "; no arrival time of w is known." in next(settling_lines(unknown, "departures"))
    alone = status_after(None, waiting(2, Completeness(START + 3 * HOUR), clocks(3)), OF_ONE, AT)
    assert "arrival times have reached" in next(settling_lines(alone, "departures"))


@given(hours, hours, hours, st.booleans(), st.booleans())
def test_what_is_due_of_two_topics_is_what_both_have_passed(
    dry_at: float, wet_at: float, settled: float, dry_unread: bool, wet_unread: bool
) -> None:
    dry = standing(Completeness(None, ("t/0",)) if dry_unread else Completeness(START + dry_at * HOUR), clocks(dry_at))
    moist = wet(wet_at, Completeness(None, ("w/0",)) if wet_unread else Completeness(START + wet_at * HOUR))
    begin = RULES.complete_until(START + settled * HOUR)
    done = Round(RoundOutcome.WAITING, begin, begin, {"t": dry, "w": moist})
    status = status_after(None, done, OF_TWO, AT)
    until = min(RULES.complete_until(START + dry_at * HOUR), WET.complete_until(START + wet_at * HOUR))
    assert status.due == max(0, (until - begin) // HOUR)
    if status.due:
        assert set(status.unread) == {name for name, unread in (("t/0", dry_unread), ("w/0", wet_unread)) if unread}
    assert from_record(json.loads(json.dumps(to_record(status)))) == status
