from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.intervals.backfill.progress import (
    STARVED_AFTER_SECONDS,
    expected_end,
    progress_in_words,
    starvation_in_words,
)
from sluice.intervals.backfill.request import Mode, Request

START = datetime(2013, 1, 7, 12, tzinfo=UTC)
REQUEST = Request("departures", Interval(START, START + timedelta(days=7)), Mode.VERIFY, by="ada")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def running(done: int, total: int, *, advanced: float | None = None) -> Backfill:
    advanced_at = None if advanced is None else at(advanced)
    return Backfill(
        "departures-1", "k", REQUEST, BackfillState.RUNNING, START, done=done, total=total, advanced_at=advanced_at
    )


SUBMITTED = replace(running(0, 0), state=BackfillState.SUBMITTED)


def test_the_end_is_where_the_pace_so_far_leads() -> None:
    assert expected_end(running(48, 168, advanced=80)) == at(280)


def test_the_pace_of_a_resumed_backfill_is_that_of_its_own_process() -> None:
    resumed = replace(running(72, 168, advanced=80), done_before=48)
    assert expected_end(resumed) == at(400)
    assert expected_end(replace(resumed, done=48)) is None


@pytest.mark.parametrize("found", [running(0, 0), running(0, 168, advanced=1)], ids=["not-counted", "first-chunk"])
def test_nobody_knows_the_end_before_the_first_chunk_is_done(found: Backfill) -> None:
    assert expected_end(found) is None


@pytest.mark.parametrize("state", sorted(set(BackfillState) - {BackfillState.RUNNING}))
def test_what_has_ended_has_no_expected_end(state: BackfillState) -> None:
    assert expected_end(replace(running(48, 168, advanced=80), state=state)) is None


@given(st.integers(1, 500), st.integers(0, 500), st.floats(0.1, 1e6))
def test_the_end_is_never_before_the_newest_progress_and_is_it_when_all_is_done(
    done: int, rest: int, seconds: float
) -> None:
    end = expected_end(running(done, done + rest, advanced=seconds))
    assert end is not None
    assert end >= at(seconds)
    assert (end == at(seconds)) == (rest == 0)


@pytest.mark.parametrize(
    ("found", "now", "words"),
    [
        (SUBMITTED, 75, "submitted 1 min 15 s ago, its process starts Spark"),
        (running(0, 0), 5, "Spark is up, it reads which intervals there are"),
        (replace(running(0, 0), state=BackfillState.CANCELLED), 5, "it had not begun"),
        (
            running(0, 168, advanced=1),
            65,
            "0 of 168 intervals (0 %), at work on its first chunk for 1 min 4 s",
        ),
        (running(48, 168, advanced=80), 80, "48 of 168 intervals (28 %), about 3 min 20 s to go"),
        (running(48, 168, advanced=80), 250, "48 of 168 intervals (28 %), about 30 s to go"),
        (running(48, 168, advanced=80), 999, "48 of 168 intervals (28 %), about 0 s to go"),
        (running(1, 8_760, advanced=10), 10, "1 of 8,760 intervals (0 %), about 24 h 19 min to go"),
        (running(168, 168, advanced=80), 90, "168 of 168 intervals (100 %)"),
    ],
)
def test_progress_is_said_in_words(found: Backfill, now: float, words: str) -> None:
    assert progress_in_words(found, at(now)) == words


def test_a_batch_that_gets_no_processor_time_says_so_and_what_to_do() -> None:
    words = starvation_in_words(16, 900, 19)
    assert words.startswith("it got 16 s of processor time in 15 min 0 s: this machine is busy")
    assert "SLUICE_BATCH_NICENESS=0" in words
    assert "SLUICE_BATCH_NICENESS" not in starvation_in_words(16, 900, 0)


@given(st.floats(0, 1e6), st.none() | st.floats(0, 1e6))
def test_a_batch_that_is_young_or_works_or_cannot_be_seen_is_not_starved(seconds: float, cpu: float | None) -> None:
    starved = bool(starvation_in_words(cpu, seconds, 19))
    assert starved == (cpu is not None and seconds >= STARVED_AFTER_SECONDS and cpu < seconds / 10)
