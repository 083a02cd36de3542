"""What part a record has in intervals, and in those of pipelines behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluice.intervals.alignment import Interval
from sluice.intervals.entries import Content
from sluice.intervals.ledger import Ledger, LedgerRow, State, Written
from sluice.intervals.rows import Rows
from sluice.quality.reasons import Outcome
from sluice.settling.rules import SettlingRules
from sluice.specs.model.model import PipelineSpec
from sluice.tracing.address import RecordAddress
from sluice.tracing.intervals import Part, resting_intervals, traced_intervals
from sluice.tracing.judgement import FoundRecord, Judgement
from sluice.tracing.storage import StoredRow
from tests.unit.specs.chain import chained_project

HOUR = timedelta(hours=1)
NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
RULES = SettlingRules(HOUR, allowed_lateness=HOUR)
RECORD = FoundRecord(RecordAddress("orders", 0, 7), StoredRow("t", NOON, None, b"{}", (), NOON + HOUR / 2, NOON))
GOOD, LATE, BAD = (Judgement(each) for each in (Outcome.GOOD, Outcome.LATE, Outcome.QUARANTINED))
TAKEN = Written("settle:sales", 1, 3, NOON, {"orders/0": 8}, "code", Content(2, "5"), topics=("t",))


def ledger(rows: Mapping[datetime, Written], closed_until: datetime | None = None) -> Ledger:
    found = [LedgerRow(Interval(at, at + HOUR), each, each) for at, each in sorted(rows.items())]
    return Ledger(Rows(found), closed_until, 3)


def touched(rules: SettlingRules) -> list[Interval]:
    return list(rules.touched(NOON + HOUR / 2))


def parts(judgement: Judgement, rows: Mapping[datetime, Written], closed: datetime | None = None) -> list[Part]:
    return [each.part for each in traced_intervals(RECORD, judgement, ledger(rows, closed), "code", touched(RULES))]


def test_an_interval_was_computed_with_a_record_if_its_writer_had_read_it() -> None:
    (found,) = traced_intervals(RECORD, GOOD, ledger({NOON: TAKEN}), "code", touched(RULES))
    assert (found.interval, found.part, found.state) == (Interval(NOON, NOON + HOUR), Part.TAKEN, State.CLOSED)
    assert found.holds
    assert parts(GOOD, {NOON: replace(TAKEN, offsets={"orders/0": 7})}) == [Part.MISSED]
    assert parts(GOOD, {NOON: replace(TAKEN, topics=("u",))}) == [Part.MISSED], "offsets of another topic"
    assert parts(GOOD, {NOON: replace(TAKEN, offsets={"orders/0": 0}, topics=("t", "u"))}) == [Part.TAKEN]


def test_an_interval_that_nobody_wrote_is_open_or_was_passed_over() -> None:
    assert parts(GOOD, {}) == [Part.OPEN]
    assert parts(GOOD, {}, NOON) == [Part.OPEN]
    assert parts(GOOD, {}, NOON + HOUR) == [Part.UNWRITTEN]


def test_a_late_record_is_in_no_interval_but_those_that_were_corrected() -> None:
    assert parts(LATE, {NOON: TAKEN}) == [Part.LATE]
    assert parts(LATE, {}) == [Part.LATE]
    assert parts(LATE, {NOON: replace(TAKEN, late=True)}) == [Part.TAKEN]


def test_a_refused_record_is_in_no_interval_but_those_that_a_replay_has_computed() -> None:
    assert parts(BAD, {NOON: TAKEN}) == [Part.REFUSED]
    replayed = replace(TAKEN, replayed=(("t", 0, (5, 9)),))
    assert parts(BAD, {NOON: replayed}) == [Part.REPLAYED]
    assert parts(GOOD, {NOON - HOUR: replayed, NOON: TAKEN}) == [Part.REPLAYED, Part.TAKEN], "at another time of old"
    assert parts(BAD, {NOON: replace(TAKEN, replayed=(("t", 1, (5, 9)),))}) == [Part.REFUSED]


def test_a_record_is_in_all_intervals_whose_read_range_holds_it() -> None:
    wide = replace(RULES, lookback=2 * HOUR, lookahead=HOUR)
    found = traced_intervals(RECORD, GOOD, ledger({NOON: TAKEN}), "code", touched(wide))
    assert [(each.interval.start - NOON) // HOUR for each in found] == [-1, 0, 1, 2]
    assert [each.part for each in found] == [Part.OPEN, Part.TAKEN, Part.OPEN, Part.OPEN]


def test_offsets_of_several_topics_are_told_apart() -> None:
    both = replace(TAKEN, offsets={"orders/0": 8, "visits/0": 2}, topics=("orders/t", "visits/v"))
    assert parts(GOOD, {NOON: both}) == [Part.TAKEN]
    assert parts(GOOD, {NOON: replace(both, offsets={"orders/0": 7, "visits/0": 20})}) == [Part.MISSED]


@pytest.fixture
def days(tmp_path: Path) -> PipelineSpec:
    return chained_project(tmp_path).scan().catalog.pipelines["days"]


def test_an_interval_over_a_table_says_whether_it_was_made_of_the_rows_of_now(days: PipelineSpec) -> None:
    day, length = datetime(2013, 1, 1, tzinfo=UTC), timedelta(days=1)
    made = Written("settle:days", 1, 1, NOON, {"table:sales/0": 4}, "code", Content(1, "1"), topics=("s",))
    own = Ledger(Rows([LedgerRow(Interval(day, day + length), made, made)]), day + length)

    def rests(version: int | None, at: datetime = NOON) -> list[tuple[datetime, bool | None]]:
        below = {Interval(at, at + HOUR): version}
        return [(each.interval.start, each.current) for each in resting_intervals(days, "sales", own, "code", below)]

    assert rests(3) == [(day, True)]
    assert rests(4) == [(day, False)], "version 4 wrote the hour, and the day was made of version 3"
    assert rests(None) == [(day, False)]
    assert rests(3, NOON + length) == [(day + length, None)]
