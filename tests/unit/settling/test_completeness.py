"""When every record that arrived before a time must have been read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sluice.intervals.arrivals import ArrivalClocks
from sluice.intervals.reach import Reach
from sluice.settling.completeness import NOTHING_KNOWN, Completeness, Silence, completeness
from sluice.settling.rules import SettlingRules

START = datetime(2013, 1, 7, tzinfo=UTC)
HOUR = timedelta(hours=1)


def clocks(**hours: int) -> ArrivalClocks:
    """Return clocks by partition: p0 is `t/0`."""
    return ArrivalClocks({f"t/{name[1:]}": START + hour * HOUR for name, hour in hours.items()})


def test_of_a_topic_without_records_nothing_is_known() -> None:
    assert completeness(ArrivalClocks(), {}, {"t/0": 0}) == NOTHING_KNOWN


def test_partitions_that_are_read_to_their_ends_hold_nothing() -> None:
    assert (
        completeness(clocks(p0=9, p1=2), {"t/0": 10, "t/1": 4}, {"t/0": 10, "t/1": 4, "t/2": 0}).clock
        == START + 9 * HOUR
    )


def test_a_partition_with_unread_records_holds_at_its_own_clock() -> None:
    found = completeness(clocks(p0=9, p1=2), {"t/0": 10, "t/1": 4}, {"t/0": 10, "t/1": 5})
    assert found == Completeness(START + 2 * HOUR, ("t/1",))


def test_the_partition_that_leads_holds_nothing_though_it_has_more() -> None:
    found = completeness(clocks(p0=9, p1=2), {"t/0": 10, "t/1": 4}, {"t/0": 11, "t/1": 4})
    assert found == Completeness(START + 9 * HOUR)


def test_a_partition_of_which_no_arrival_is_known_holds_everything() -> None:
    assert completeness(clocks(p0=9), {"t/0": 10}, {"t/0": 10, "t/1": 1}) == Completeness(None, ("t/1",))


def test_silence_lasts_from_one_answer_to_the_next_question() -> None:
    silence, ends = Silence(), Reach({"t/0": 10}, ("a",))
    assert silence.of(ends, ends, 100, 103) == timedelta()
    assert silence.of(ends, ends, 110, 119) == timedelta(seconds=7)
    assert silence.of(ends, ends, 203, 204) == timedelta(seconds=100)


def test_whatever_is_appended_ends_a_silence() -> None:
    silence, ends = Silence(), Reach({"t/0": 10}, ("a",))
    silence.of(ends, ends, 0, 0)
    more = Reach({"t/0": 11}, ("a",))
    assert silence.of(more, more, 60, 60) == timedelta()
    assert silence.of(more, more, 61, 61) == timedelta(seconds=1)
    again = Reach({"t/0": 11}, ("b",))
    assert silence.of(again, again, 90, 90) == timedelta(), "of the topic that was created again"


def test_a_source_with_unread_records_is_not_silent() -> None:
    silence, ends = Silence(), Reach({"t/0": 10, "t/1": 4}, ("a",))
    behind = Reach({"t/0": 10, "t/1": 3}, ("a",))
    assert silence.of(behind, ends, 0, 0) == timedelta()
    assert silence.of(behind, ends, 60, 60) == timedelta()
    assert silence.of(ends, ends, 100, 100) == timedelta()
    assert silence.of(ends, ends, 130, 130) == timedelta(seconds=30)


RULES = SettlingRules(HOUR, 2 * HOUR, HOUR / 4, lookback=HOUR / 2, lookahead=HOUR / 4)


@pytest.mark.parametrize(("minutes", "complete"), [(149, -1), (150, 0), (209, 0), (210, 1)])
def test_an_interval_is_complete_when_the_clock_has_passed_its_end_by_all_margins(minutes: int, complete: int) -> None:
    clock = START + timedelta(minutes=minutes)
    assert RULES.complete_until(clock) == START + complete * HOUR


@pytest.mark.parametrize(
    ("minutes", "touched"), [(0, [-1, 0]), (14, [-1, 0]), (15, [0]), (29, [0]), (30, [0, 1]), (59, [0, 1])]
)
def test_a_record_touches_the_intervals_in_whose_read_range_it_lies(minutes: int, touched: list[int]) -> None:
    found = [interval.start for interval in RULES.touched(START + timedelta(minutes=minutes))]
    assert found == [START + number * HOUR for number in touched]
