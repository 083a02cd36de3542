from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluice.settling.status import SettlingStatus
from sluice.specs.catalog.rhythm import Rhythm
from sluice.specs.model.deadlines import Deadline, StreamDeadlines
from sluice.streams.deadlines.deadlines import examine
from sluice.streams.health.health import Health
from sluice.streams.health.observation import Observation
from sluice.streams.health.snapshots import DeadlineState
from sluice.streams.health.verdict import Verdict
from sluice.streams.health.window import Window
from sluice.streams.life.launcher import DriverReport, DriverState
from tests.twins.observations import RUNNING, moment, observed, steadily, window_of

TEN = timedelta(minutes=10)


def found(
    declared: StreamDeadlines,
    seen: Observation | None = None,
    window: Window | None = None,
    **verdict: Any,  # noqa: ANN401 - any field of Verdict
) -> DeadlineState:
    """Return what is found of the one deadline that is declared."""
    seen = observed(1_000, steadily(3), 2_000) if seen is None else seen
    judged = Verdict(Health.OK, "It works.", **{"lag_records": seen.lag_records, **verdict})
    declared = declared if "loss_risk" in declared.model_fields_set else declared.model_copy(update={"loss_risk": None})
    (finding,) = examine(declared, seen, judged, window or Window().add(seen)).values()
    return finding


def test_only_loss_is_looked_for_unless_more_is_declared() -> None:
    seen = observed(0)
    assert list(examine(StreamDeadlines(), seen, Verdict(Health.OK, ""), Window())) == [Deadline.LOSS_RISK]
    assert examine(StreamDeadlines(loss_risk=None), seen, Verdict(Health.OK, ""), Window()) == {}


@pytest.mark.parametrize(
    ("waits", "missed"), [(599.0, False), (600.0, False), (601.0, True), (None, None), (0.0, False)]
)
def test_lag_is_how_long_the_first_unread_record_waits(waits: float | None, missed: bool | None) -> None:
    finding = found(StreamDeadlines(lag=TEN), lag_seconds=waits)
    assert finding.missed is missed


def test_a_miss_says_since_when_what_was_seen_and_what_was_declared() -> None:
    finding = found(StreamDeadlines(lag=TEN), lag_seconds=900.0)
    assert finding.since == moment(1_000 - 300)
    assert finding.why == "The first unread record waits for 15 min 00 s; 10 minutes are allowed."
    assert finding.what_to_do.endswith("sluice streams show flights")


@pytest.mark.parametrize(("records", "missed"), [(None, None), (0, False), (500, False), (501, True)])
def test_records_may_be_counted_too(records: int | None, missed: bool | None) -> None:
    assert found(StreamDeadlines(lag_records=500), lag_records=records).missed is missed


@pytest.mark.parametrize(
    ("records", "committed", "waits", "missed"),
    [
        (7, 300.0, 700.0, True),  # nothing was committed for 700 s, and they have waited as long
        (7, -9_000.0, 5.0, False),  # a night of rest, and now there is something to read
        (7, 900.0, 5_000.0, False),  # it is behind, but it works
        (0, -9_000.0, 0.0, False),  # nothing waits
        (7, None, 700.0, True),  # never a commit
        (7, None, None, None),
    ],
)
def test_an_old_commit_is_bad_only_while_records_wait(
    records: int, committed: float | None, waits: float | None, missed: bool | None
) -> None:
    committed_at = None if committed is None else moment(committed)
    finding = found(StreamDeadlines(age=TEN), lag_records=records, committed_at=committed_at, lag_seconds=waits)
    assert finding.missed is missed


def test_a_topic_is_idle_when_nobody_has_seen_anything_come() -> None:
    observations = [observed(0, steadily(1), 600), observed(10, steadily(1), 601)]
    for seconds, missed in [(20, False), (610, False), (611, True)]:
        seen = observed(seconds, steadily(1), 601)
        assert found(StreamDeadlines(idle=TEN), seen, window_of([*observations, seen])).missed is missed
    assert found(StreamDeadlines(idle=TEN), seen, window_of([*observations, seen])).since == moment(610)


def test_a_watcher_that_has_just_begun_knows_by_the_newest_batch_that_nothing_came() -> None:
    done = steadily(3)  # the last one was planned at 120
    assert found(StreamDeadlines(idle=TEN), observed(721, done)).missed is True
    assert found(StreamDeadlines(idle=TEN), observed(719, done)).missed is None
    assert found(StreamDeadlines(idle=TEN), observed(9_000, done, 2_000)).missed is None  # what is unread may be new


def test_a_broker_that_does_not_answer_is_no_idle_topic() -> None:
    seen = replace(observed(9_000, steadily(3)), ends=None)
    assert found(StreamDeadlines(idle=TEN), seen, lag_records=None).missed is None


HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("loss", "retention", "missed"),
    [
        (None, None, False),
        (3_601.0, None, False),
        (3_600.0, None, True),
        (3_000.0, timedelta(hours=1), False),  # of an hour's retention half an hour is near
        (1_800.0, timedelta(hours=1), True),
    ],
)
def test_a_loss_is_told_before_it_happens(loss: float | None, retention: timedelta | None, missed: bool) -> None:
    seen = observed(1_000, steadily(3), 2_000, rhythm=Rhythm(retention=retention))
    assert found(StreamDeadlines(loss_risk=HOUR), seen, loss_seconds=loss).missed is missed


def test_a_loss_that_has_happened_is_told_with_its_size() -> None:
    seen = observed(1_000, steadily(3), 3_000, starts={"flights/0": 1_900})
    finding = found(StreamDeadlines(loss_risk=HOUR), seen)
    assert finding.missed
    assert "deleted 100 records" in finding.why


@pytest.mark.parametrize(
    "more",
    [
        {"stop_requested": True},
        {"driver": None},
        {"driver": DriverReport(RUNNING.key, DriverState.LOST)},
    ],
)
def test_of_a_stream_that_shall_not_or_does_not_run_nothing_is_said(more: dict[str, Any]) -> None:
    seen = observed(1_000, steadily(3), 2_000, **more)
    assert found(StreamDeadlines(lag=TEN), seen, lag_seconds=9_000.0).missed is None


@pytest.mark.parametrize(("minutes", "missed"), [(9, False), (10, False), (11, True)])
def test_due_intervals_of_a_settler_wait_though_no_record_does(minutes: int, missed: bool) -> None:
    seen = observed(1_000, steadily(3))
    due = SettlingStatus(seen.at, due=2, due_since=seen.at - timedelta(minutes=minutes), unread=("flights/1",))
    finding = found(StreamDeadlines(age=TEN), seen, lag_seconds=0.0, settling=due)
    assert finding.missed is missed
    if missed:
        assert finding.why == "Intervals are due, and none was settled for 11 min 00 s; 10 minutes are allowed."
        assert finding.since == seen.at - timedelta(minutes=1)
    rests = found(StreamDeadlines(age=TEN), seen, lag_seconds=0.0, settling=SettlingStatus(seen.at))
    assert rests.missed is False, "a silent topic with nothing due misses nothing"
