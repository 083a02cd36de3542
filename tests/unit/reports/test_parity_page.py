"""The page of a comparison shows what differs, what was left out, and needs nothing but itself."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import Counts, IntervalParity, ParityOutcome, ParityReport
from sluice.intervals.backfill.raw_parity import RawFault, RawFaultKind, RawParity
from sluice.intervals.backfill.request import Mode
from sluice.reports.parity import parity_page

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)


def hours(first: int, last: int) -> Interval:
    return Interval(MIDNIGHT + first * HOUR, MIDNIGHT + last * HOUR)


def page(
    *parities: IntervalParity,
    mode: Mode = Mode.CORRECT,
    left: dict[Interval, str] | None = None,
    raw: RawParity | None = None,
) -> str:
    report = ParityReport("b-1", "departures", mode, hours(0, 24), "c" * 64, MIDNIGHT, parities, left or {}, raw=raw)
    return parity_page(report, facts={"Requested by": "A&B"})


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (ParityOutcome.IDENTICAL, ("good", "identical")),
        (ParityOutcome.EXPLAINED, ("good", "explained")),
        (ParityOutcome.DIFFERENT, ("bad", "different")),
        (ParityOutcome.INCONCLUSIVE, ("warning", "inconclusive")),
    ],
)
def test_the_verdict_is_a_word_and_a_colour(outcome: ParityOutcome, verdict: tuple[str, str]) -> None:
    html = page(IntervalParity(hours(0, 1), outcome, Counts(identical=1)))
    assert re.findall(r'<p class="verdict (\w+)">([^<]+)</p>', html) == [verdict]


def test_differences_come_first_with_their_examples_and_identical_intervals_are_only_counted() -> None:
    html = page(
        IntervalParity(hours(0, 1), ParityOutcome.IDENTICAL, Counts(identical=5)),
        IntervalParity(hours(1, 2), ParityOutcome.EXPLAINED, Counts(missing=1, late=2)),
        IntervalParity(
            hours(2, 3), ParityOutcome.DIFFERENT, Counts(different=1, samples=("<b>departed 5</b>",)), "why & how"
        ),
    )
    assert html.index("02:00 to 03:00") < html.index("01:00 to 02:00 UTC</td>")
    assert "&lt;b&gt;departed 5&lt;/b&gt;" in html
    assert "why &amp; how" in html
    assert "2 late records" in html
    assert "1 further interval is identical" in html
    assert "A&amp;B" in html


def test_nothing_is_said_of_identical_intervals_where_there_is_none() -> None:
    html = page(IntervalParity(hours(1, 2), ParityOutcome.EXPLAINED, Counts(missing=1, late=2)))
    assert "row by row" not in html


def test_neighbours_that_were_left_out_for_one_reason_are_one_line() -> None:
    left = {hours(n, n + 1): "dirty: batch 7" for n in range(3)} | {hours(5, 6): "open"}
    html = page(IntervalParity(hours(9, 10), ParityOutcome.IDENTICAL, Counts(identical=1)), left=left)
    assert html.count("dirty: batch 7</td>") == 1
    assert "2013-01-01 00:00 to 03:00 UTC" in html


def test_a_page_of_a_year_stays_readable() -> None:
    year = [IntervalParity(hours(n, n + 1), ParityOutcome.RECOMPUTED, Counts(missing=1)) for n in range(8760)]
    html = page(*year, mode=Mode.RECOMPUTE)
    assert "8,260 more intervals" in html
    assert len(html) < 400_000


def test_a_page_needs_nothing_but_itself() -> None:
    html = page(IntervalParity(hours(0, 1), ParityOutcome.IDENTICAL, Counts(identical=1)))
    assert not re.search(r"<script|src=|href=|url\(|@import", html)


def test_a_trial_speaks_of_new_and_old_rows_and_names_the_file_with_all_of_them() -> None:
    changed = IntervalParity(hours(1, 2), ParityOutcome.CHANGED, Counts(identical=4, missing=1, extra=2, different=3))
    html = page(changed, mode=Mode.TRY)
    assert "4 identical, 1 only new, 2 only old, 3 changed" in html
    assert "Try departures" in html
    assert "differences-*.jsonl" in html
    assert "Late records" not in html
    assert "differences-" not in page(IntervalParity(hours(1, 2), ParityOutcome.IDENTICAL, Counts(1)), mode=Mode.TRY)


def test_the_raw_table_is_on_the_page_with_every_fault_that_is_kept() -> None:
    same = IntervalParity(hours(0, 1), ParityOutcome.IDENTICAL, Counts(identical=1))
    html = page(same, raw=RawParity(partitions=4, offsets=6_700, compared=1_280, gone=3))
    assert "6,700 offsets of 4 partitions checked; 1,280 records compared with Kafka byte by byte" in html
    assert "3 are missing and cannot be checked any more" in html
    assert "Raw table and Kafka" not in html
    assert "Raw table" not in page(same)
    fault = RawFault("topic-1", "flights/2", 17, RawFaultKind.ALTERED, ("key", "value"))
    html = page(same, raw=RawParity(faults={RawFaultKind.ALTERED: 1}, examples=(fault,)))
    assert re.findall(r'<p class="verdict (\w+)">([^<]+)</p>', html) == [("bad", "raw_mismatch")]
    assert '<span class="mark bad">altered</span></td><td>flights/2</td><td>17</td>' in html
    assert "key, value" in html
