"""The arrival clock: what advances it, and what must not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.arrivals import SPANS_KEPT, ArrivalClocks, ArrivalSpan, advanced, joined

START = datetime(2013, 1, 7, tzinfo=UTC)
NOW = datetime(2026, 11, 25, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def span(first: float, last: float | None = None, *, witnessed: bool = False) -> ArrivalSpan:
    """Return a span between two hours after START."""
    return ArrivalSpan(START + first * HOUR, START + (first if last is None else last) * HOUR, witnessed)


def read(clocks: ArrivalClocks, *spans: ArrivalSpan, partition: str = "t/0", now: datetime = NOW) -> ArrivalClocks:
    return advanced(clocks, {partition: spans}, max_advance=DAY, now=now)


BEGUN = read(ArrivalClocks(), span(0, 5))


def test_the_first_records_begin_the_clock() -> None:
    assert BEGUN.newest == START + 5 * HOUR
    assert BEGUN.unconfirmed == {}


def test_a_backlog_advances_by_the_gaps_within_it() -> None:
    clocks = read(BEGUN, *(span(5 + 20 * n) for n in range(100)))
    assert clocks.newest == START + (5 + 20 * 99) * HOUR


def test_a_record_of_next_year_counts_for_nothing_and_hides_no_other() -> None:
    clocks = read(BEGUN, span(6), span(24 * 365))
    assert clocks.newest == START + 6 * HOUR
    assert clocks.unconfirmed == {"t/0": (span(24 * 365),)}
    assert read(clocks, span(7)).newest == START + 7 * HOUR


def test_a_second_record_of_next_year_in_the_same_partition_is_no_evidence() -> None:
    clocks = read(read(BEGUN, span(24 * 365)), span(24 * 365 + 1))
    assert clocks.newest == START + 5 * HOUR


def test_the_same_advance_in_another_partition_is_evidence() -> None:
    held = read(BEGUN, span(24 * 30))
    clocks = read(held, span(24 * 30 + 2), partition="t/1")
    assert clocks.accepted == {"t/0": START + 24 * 30 * HOUR, "t/1": START + (24 * 30 + 2) * HOUR}
    assert clocks.unconfirmed == {}


def test_the_brokers_own_stamp_is_evidence() -> None:
    assert read(BEGUN, span(24 * 30, witnessed=True)).newest == START + 24 * 30 * HOUR


def test_a_person_is_evidence() -> None:
    held = read(BEGUN, span(24 * 30))
    clocks = advanced(held, {}, max_advance=DAY, now=NOW, believed_until=START + 24 * 30 * HOUR)
    assert clocks.newest == START + 24 * 30 * HOUR


def test_a_live_topic_may_be_silent_for_as_long_as_it_likes() -> None:
    live = read(ArrivalClocks(), span(0), now=START)
    later = START + timedelta(days=40)
    assert read(live, ArrivalSpan(later, later), now=later).newest == later


def test_a_topic_that_was_first_read_after_a_silence_is_live_once_its_records_go_on() -> None:
    begun = read(ArrivalClocks(), span(0), now=START + timedelta(days=40))
    back = START + timedelta(days=41)
    held = read(begun, ArrivalSpan(back, back), now=back)
    assert held.newest == START
    assert read(held, ArrivalSpan(back + HOUR, back + HOUR), now=back + HOUR).newest == back + HOUR


def test_an_old_topic_that_is_read_again_has_no_live_clock_to_follow() -> None:
    assert read(BEGUN, span(24 * 30), now=NOW + timedelta(minutes=5)).newest == START + 5 * HOUR


def test_a_topic_that_was_created_again_begins_anew_and_is_measured_against_the_one_before() -> None:
    new = BEGUN.of_new_topic()
    assert new.newest is None
    assert read(new, span(24 * 30)).newest is None
    assert read(new, span(6)).newest == START + 6 * HOUR


def test_a_withdrawal_takes_back_what_was_accepted_and_what_was_held() -> None:
    clocks = read(read(BEGUN, span(6, 20)), span(24 * 365)).withdrawn(START + 8 * HOUR)
    assert (clocks.newest, clocks.unconfirmed) == (START + 8 * HOUR, {})
    assert read(clocks, span(9)).newest == START + 9 * HOUR


def test_what_nothing_corroborates_is_kept_in_bounded_number() -> None:
    clocks = read(BEGUN, *(span(24 * 365 + 48 * n) for n in range(SPANS_KEPT + 50)))
    assert len(clocks.unconfirmed["t/0"]) == SPANS_KEPT


hours = st.lists(st.integers(0, 24 * 20), min_size=1, max_size=20)


@given(hours, hours)
def test_the_clock_never_goes_back_and_never_passes_what_was_read(first: list[int], then: list[int]) -> None:
    before = read(ArrivalClocks(), *map(span, first))
    after = read(before, *map(span, then))
    assert before.newest is not None
    assert after.newest is not None
    assert before.newest <= after.newest <= START + max(*first, *then) * HOUR


@given(hours)
def test_the_cut_of_what_is_read_does_not_matter_to_one_partition(read_hours: list[int]) -> None:
    ordered = sorted(read_hours)
    whole = read(ArrivalClocks(), *map(span, ordered))
    pieces = ArrivalClocks()
    for hour in ordered:
        pieces = read(pieces, span(hour))
    assert (pieces.accepted, pieces.unconfirmed) == (whole.accepted, whole.unconfirmed)


@given(hours)
def test_spans_are_apart_by_more_than_the_gap_and_hold_every_time(read_hours: list[int]) -> None:
    spans = joined(map(span, read_hours), DAY)
    assert all(b.first - a.last > DAY for a, b in pairwise(spans))
    assert all(any(s.first <= START + h * HOUR <= s.last for s in spans) for h in read_hours)


def test_a_record_of_next_year_that_is_read_first_counts_for_nothing_once_others_are_read() -> None:
    next_year = span(24 * 365)
    alone = advanced(ArrivalClocks(), {"t/0": [next_year]}, max_advance=DAY, now=NOW, settled=False)
    assert alone.newest == next_year.last
    others = {"t/0": [span(5)], "t/1": [span(3)]}
    clocks = advanced(alone, others, max_advance=DAY, now=NOW, settled=False)
    assert clocks.accepted == {"t/0": START + 5 * HOUR, "t/1": START + 3 * HOUR}
    assert clocks.unconfirmed == {"t/0": (next_year,)}
    assert clocks.lead == START + 5 * HOUR - NOW


def begun(
    clocks: ArrivalClocks, *spans: ArrivalSpan, now: datetime = NOW, until: datetime | None = None
) -> ArrivalClocks:
    """Return the clocks of a topic of a table of which nothing is settled yet."""
    return advanced(clocks, {"t/0": spans}, max_advance=DAY, now=now, believed_until=until, settled=False)


def test_what_a_person_confirmed_counts_while_another_topic_keeps_the_first_interval_from_being_settled() -> None:
    held = begun(ArrivalClocks(), span(0), span(24 * 30))
    assert held.newest == START
    confirmed = begun(held, until=START + 24 * 30 * HOUR)
    assert confirmed.newest == START + 24 * 30 * HOUR
    assert begun(confirmed).newest == confirmed.newest, "the commit that followed took the decision's place"


def test_what_our_own_clock_bore_out_counts_while_nothing_is_settled() -> None:
    old = begun(ArrivalClocks(), span(0), now=START + timedelta(days=40))
    back = START + timedelta(days=41)
    held = begun(old, ArrivalSpan(back, back), now=back)
    live = begun(held, ArrivalSpan(back + HOUR, back + HOUR), now=back + HOUR)
    assert (held.newest, live.newest) == (START, back + HOUR)
    assert begun(live, now=back + 2 * HOUR).newest == back + HOUR
    assert begun(live, span(-24 * 30), now=back + 2 * HOUR).newest == back + HOUR, "though an earlier one begins it"


@given(spans=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 200)), min_size=1, max_size=8), cut=st.integers())
def test_until_something_is_settled_the_order_of_reading_changes_nothing(
    spans: list[tuple[str, int]], cut: int
) -> None:
    def clocks_of(*parts: list[tuple[str, int]]) -> ArrivalClocks:
        clocks = ArrivalClocks()
        for part in parts:
            seen = {p: [span(hour) for q, hour in part if q == p] for p in "ab"}
            clocks = advanced(clocks, seen, max_advance=DAY, now=NOW, settled=False)
        return clocks

    at = cut % (len(spans) + 1)
    one, other = clocks_of(spans), clocks_of(spans[at:], spans[:at])
    assert (one.accepted, one.unconfirmed) == (other.accepted, other.unconfirmed)


def test_a_record_of_the_future_does_not_begin_the_clock() -> None:
    future = ArrivalSpan(NOW + 300 * DAY, NOW + 300 * DAY)
    for settled in (True, False):
        clocks = advanced(ArrivalClocks(), {"t/0": [future]}, max_advance=DAY, now=NOW, settled=settled)
        assert clocks.newest is None
        assert clocks.unconfirmed == {"t/0": (future,)}
