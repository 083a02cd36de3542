from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import PASSES, Counts, IntervalParity, ParityOutcome, ParityReport, judge_interval
from sluice.intervals.backfill.raw_parity import RawFault, RawFaultKind, RawParity
from sluice.intervals.backfill.request import Mode
from sluice.intervals.backfill.selection import NOT_CHECKED
from sluice.intervals.backfill.trial import ColumnChanges

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
FIRST, SECOND = Interval(MIDNIGHT, MIDNIGHT + HOUR), Interval(MIDNIGHT + HOUR, MIDNIGHT + 2 * HOUR)
SAME, OTHER = Counts(identical=3), Counts(identical=2, different=1, samples=("origin=EWR: departed 5, computed 6",))


def report(
    *parities: IntervalParity, mode: Mode = Mode.VERIFY, left: dict[Interval, str] | None = None
) -> ParityReport:
    whole = Interval(FIRST.start, SECOND.end)
    return ParityReport("b", "departures", mode, whole, "code", MIDNIGHT, parities, left or {})


def parity(outcome: ParityOutcome, counts: Counts = SAME, interval: Interval = FIRST) -> IntervalParity:
    return IntervalParity(interval, outcome, counts)


@pytest.mark.parametrize(
    ("mode", "counts", "changed", "expected"),
    [
        (Mode.VERIFY, SAME, "", ParityOutcome.IDENTICAL),
        (Mode.VERIFY, OTHER, "", ParityOutcome.DIFFERENT),
        (Mode.VERIFY, replace(OTHER, late=4), "", ParityOutcome.DIFFERENT),
        (Mode.VERIFY, SAME, "a row is gone", ParityOutcome.DIFFERENT),
        (Mode.CORRECT, SAME, "", ParityOutcome.IDENTICAL),
        (Mode.CORRECT, replace(SAME, late=4), "", ParityOutcome.IDENTICAL),
        (Mode.CORRECT, replace(OTHER, late=4), "", ParityOutcome.EXPLAINED),
        (Mode.CORRECT, OTHER, "", ParityOutcome.DIFFERENT),
        (Mode.CORRECT, replace(OTHER, late=4), "a row is gone", ParityOutcome.DIFFERENT),
        (Mode.RECOMPUTE, OTHER, "", ParityOutcome.RECOMPUTED),
        (Mode.TRY, SAME, "", ParityOutcome.IDENTICAL),
        (Mode.TRY, OTHER, "", ParityOutcome.CHANGED),
        (Mode.TRY, OTHER, "a row is gone", ParityOutcome.DIFFERENT),
    ],
)
def test_an_interval_is_judged_by_mode_differences_and_late_records(
    mode: Mode, counts: Counts, changed: str, expected: ParityOutcome
) -> None:
    found = judge_interval(mode, FIRST, counts, changed)
    assert found.outcome is expected
    assert bool(found.why) == (expected is ParityOutcome.DIFFERENT)


def test_a_trial_finds_changed_rows_or_columns_and_is_not_spoilt_by_what_it_left_out() -> None:
    left = {SECOND: "dirty: a record was dropped"}
    same = report(parity(ParityOutcome.IDENTICAL), mode=Mode.TRY, left=left)
    assert same.outcome is ParityOutcome.IDENTICAL
    assert report(parity(ParityOutcome.CHANGED, OTHER), mode=Mode.TRY, left=left).outcome is ParityOutcome.CHANGED
    wider = replace(same, columns=ColumnChanges(added=("diverted",)))
    assert (wider.outcome, wider.why) == (ParityOutcome.CHANGED, "")
    assert json.loads(wider.to_json())["columns"]["added"] == ["diverted"]
    unfinished = report(parity(ParityOutcome.IDENTICAL), mode=Mode.TRY, left={SECOND: f"{NOT_CHECKED}: it broke off"})
    assert unfinished.outcome is ParityOutcome.INCONCLUSIVE
    assert report(mode=Mode.TRY, left=left).why.endswith("dirty: a record was dropped.")


def test_nothing_compared_is_no_pass() -> None:
    assert report().outcome is ParityOutcome.INCONCLUSIVE
    assert report(parity(ParityOutcome.IDENTICAL, Counts())).outcome is ParityOutcome.INCONCLUSIVE
    assert "no row to compare" in report(parity(ParityOutcome.IDENTICAL, Counts())).why


def test_an_interval_that_was_left_out_spoils_a_pass_unless_it_is_open() -> None:
    identical = parity(ParityOutcome.IDENTICAL)
    assert report(identical, left={SECOND: "open: the stream may still write it"}).outcome is ParityOutcome.IDENTICAL
    spoiled = report(identical, left={SECOND: "dirty: batch 7 dropped records"})
    assert spoiled.outcome is ParityOutcome.INCONCLUSIVE
    assert "2013-01-01T01:00Z" in spoiled.why
    assert "batch 7" in spoiled.why


def test_a_recompute_proves_nothing_of_what_it_took_and_did_not_come_to() -> None:
    done = parity(ParityOutcome.RECOMPUTED)
    found = report(done, mode=Mode.RECOMPUTE, left={SECOND: f"{NOT_CHECKED}: the backfill ended before"})
    assert found.outcome is ParityOutcome.INCONCLUSIVE
    assert "1 of 2 intervals were left out" in found.why
    asked = report(done, mode=Mode.RECOMPUTE, left={SECOND: "closed: only dirty intervals were requested"})
    assert asked.outcome is ParityOutcome.RECOMPUTED


def test_a_difference_outweighs_everything_and_is_told_with_an_example() -> None:
    found = report(
        parity(ParityOutcome.IDENTICAL),
        replace(parity(ParityOutcome.DIFFERENT, OTHER, SECOND), why="nothing explains the difference"),
        parity(ParityOutcome.INCONCLUSIVE),
        left={SECOND: "dirty"},
    )
    assert found.outcome is ParityOutcome.DIFFERENT
    assert "2013-01-01T01:00Z: nothing explains the difference; origin=EWR: departed 5, computed 6" in found.why


@given(
    st.lists(
        st.sampled_from(
            [ParityOutcome.IDENTICAL, ParityOutcome.EXPLAINED, ParityOutcome.DIFFERENT, ParityOutcome.INCONCLUSIVE]
        )
    )
)
def test_only_a_report_whose_every_interval_passes_passes(outcomes: list[ParityOutcome]) -> None:
    found = report(*(parity(outcome) for outcome in outcomes), mode=Mode.CORRECT)
    assert (found.outcome in PASSES) == (bool(outcomes) and all(outcome in PASSES for outcome in outcomes))
    assert bool(found.why) == (found.outcome not in PASSES)


def test_the_counts_add_up_and_say_what_is_explained() -> None:
    found = report(
        parity(ParityOutcome.EXPLAINED, Counts(identical=1, missing=2, late=3)),
        parity(ParityOutcome.DIFFERENT, Counts(extra=1, different=1), SECOND),
    )
    assert found.totals == Counts(identical=1, missing=2, extra=1, different=1, late=3)
    assert (found.explained, found.unexplained) == (2, 2)
    # What is wrong without a differing row (something else changed the table) still counts as one.
    assert report(parity(ParityOutcome.DIFFERENT)).unexplained == 1


def test_the_report_is_json_with_every_interval() -> None:
    found = report(parity(ParityOutcome.DIFFERENT, OTHER), left={SECOND: "dirty: batch 7"})
    data = json.loads(found.to_json())
    assert (data["outcome"], data["mode"], data["totals"]["different"]) == ("different", "verify", 1)
    bounds = {"from": FIRST.start.isoformat(), "to": FIRST.end.isoformat()}
    counts = {**asdict(OTHER), "samples": ["origin=EWR: departed 5, computed 6"]}
    assert data["intervals"] == [{**bounds, "outcome": "different", **counts, "why": ""}]
    assert data["left"] == [
        {"from": SECOND.start.isoformat(), "to": SECOND.end.isoformat(), "why": "dirty: batch 7"},
    ]


LOST = RawParity(
    partitions=1,
    offsets=9,
    compared=8,
    faults={RawFaultKind.LOST: 1},
    examples=(RawFault("topic-1", "flights/2", 17, RawFaultKind.LOST),),
)


def test_a_raw_table_that_lacks_a_record_spoils_every_agreement() -> None:
    for outcome in (ParityOutcome.IDENTICAL, ParityOutcome.DIFFERENT, ParityOutcome.INCONCLUSIVE):
        found = replace(report(parity(outcome)), raw=LOST)
        assert found.outcome is ParityOutcome.RAW_MISMATCH
        assert found.outcome not in PASSES
        assert "flights/2 offset 17 lost" in found.why
    raw = json.loads(replace(report(parity(ParityOutcome.IDENTICAL)), raw=LOST).to_json())["raw"]
    assert (raw["sound"], raw["faults"], raw["examples"][0]["offset"]) == (False, {"lost": 1}, 17)


def test_a_raw_table_that_could_not_be_compared_is_no_fault_and_is_said() -> None:
    alone = RawParity(partitions=1, offsets=9, not_compared="No Kafka broker could be reached.")
    found = replace(report(parity(ParityOutcome.IDENTICAL)), raw=alone)
    assert (found.outcome, found.why) == (ParityOutcome.IDENTICAL, "")
    raw = json.loads(found.to_json())["raw"]
    assert (raw["sound"], raw["not_compared"]) == (True, "No Kafka broker could be reached.")
    assert "not compared with Kafka" in raw["text"]
    assert "raw" not in json.loads(report(parity(ParityOutcome.IDENTICAL)).to_json())
