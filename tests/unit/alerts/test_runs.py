"""Failed runs: which are over by a later success, and which nobody was told of, whatever callbacks come of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import AlertHistory
from sluice.alerts.incidents import open_incidents
from sluice.alerts.runs import GRACE, Review, RunCount, review, successes_before
from tests.unit.alerts.examples import NOW, make_alert

MINUTE = timedelta(minutes=1)
BASE = RunCount("topics", NOW, succeeded=None, failed=3)


def counted(failed: int, minutes: float = 1, **fields: object) -> RunCount:
    return replace(BASE, at=NOW + minutes * MINUTE, failed=failed, **fields)


def failure(run: str, level: Level = Level.DAG, **fields: object) -> Alert:
    return make_alert(f"{run}-{level}", run_id=run, level=level, **fields)


def test_the_first_count_is_put_on_record_and_the_same_again_is_not() -> None:
    assert review([], [], BASE) == Review(BASE)
    assert review([BASE], [], counted(3)) == Review(None)


def test_a_failed_run_that_an_alert_names_is_accounted_for_whichever_of_the_two_is_seen_first() -> None:
    by_count_first = review([BASE], [], counted(4))
    assert by_count_first.record is not None
    assert by_count_first.record.unexplained_since == NOW + MINUTE
    later = review([BASE, by_count_first.record], [failure("r1")], counted(4, 2))
    assert later == Review(counted(4, 2, accounted=1))

    assert review([BASE], [failure("r1", Level.TASK)], counted(3)) == Review(None)
    both = [failure("r1", Level.TASK), failure("r1")]
    assert review([BASE], both, counted(4)) == Review(counted(4, accounted=1))


def test_a_failed_run_of_which_no_alert_tells_is_lost_once_its_callback_has_had_its_time() -> None:
    first = review([BASE], [], counted(5)).record
    assert first is not None
    almost = GRACE / MINUTE + 1 - 0.01
    assert review([BASE, first], [], counted(5, almost)) == Review(None)
    over = counted(5, GRACE / MINUTE + 1)
    assert review([BASE, first], [], over) == Review(over, unreported=2)
    assert review([BASE, first], [failure("r1")], over) == Review(replace(over, accounted=1), unreported=1)


def test_an_alert_that_names_no_run_tells_of_all_that_had_failed_and_of_none_after_it() -> None:
    first = review([BASE], [], counted(4)).record
    assert first is not None
    told = [failure("")]
    settled = review([BASE, first], told, counted(4, 7)).record
    assert settled == counted(4, 7, unnamed=told[0].id)
    again = review([BASE, first, settled], told, counted(5, 8)).record
    assert again is not None
    assert review([again], told, counted(5, 13)).unreported == 1


def test_runs_that_were_cleared_or_removed_are_no_failures_and_the_next_one_counts() -> None:
    fewer = review([BASE], [], counted(1)).record
    assert fewer == counted(1)
    grown = review([fewer], [], counted(2, 2)).record
    assert grown is not None
    assert grown.unexplained_since is not None


def test_a_dag_whose_failures_were_not_counted_before_begins_with_what_there_is() -> None:
    unasked = RunCount("topics", NOW, succeeded=7, open_alerts=("a1",))
    assert review([unasked], [], replace(unasked, at=NOW + MINUTE)) == Review(None)
    assert review([unasked], [], counted(30)).unreported == 0
    assert review([unasked], [], counted(30)).record == counted(30)
    assert review([BASE], [], replace(BASE, failed=None)) == Review(None)


def test_a_success_counts_from_the_first_count_with_the_alert_on_record_where_the_alert_knows_none() -> None:
    blind = failure("r1")
    counts = [
        RunCount("topics", NOW, succeeded=3),
        RunCount("topics", NOW, succeeded=5, open_alerts=(blind.id,)),
        RunCount("topics", NOW, succeeded=None, open_alerts=(blind.id,)),
    ]
    assert successes_before(blind, counts[:1]) is None
    assert successes_before(blind, counts) == 5
    assert successes_before(replace(blind, successes=4), counts) == 4
    cleaned = RunCount("topics", NOW, succeeded=1, open_alerts=(blind.id,))
    assert successes_before(replace(blind, successes=4), [*counts, cleaned]) == 1


def test_a_count_that_fell_is_put_on_record_so_that_the_next_success_ends_what_is_open() -> None:
    before = counted(3, succeeded=500, open_alerts=("a1",))
    fallen = counted(3, 2, succeeded=100, open_alerts=("a1",))
    assert review([before], [], fallen) == Review(fallen)


class FailingRuns(RuleBasedStateMachine):
    """Runs of one DAG fail and succeed. Callbacks come at once, late, or never, and some minutes have no round."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.alerts: list[Alert] = []
        self.counts: list[RunCount] = []
        self.succeeded = self.failed = self.runs = 0
        self.callbacks: list[Alert] = []
        self.unreported = 0
        self.told_of_lost = 0
        self.after_newest = 0
        self.play()

    def history(self) -> AlertHistory:
        return AlertHistory(tuple(self.alerts), {})

    def enter(self, alert: Alert) -> None:
        self.alerts.append(replace(alert, at=self.now))
        self.after_newest = 0

    @rule(callback=st.sampled_from(["at once", "late", "never"]), task=st.booleans())
    def a_run_fails(self, callback: str, task: bool) -> None:
        self.runs += 1
        run = f"r{self.runs}"
        if callback == "never":
            self.unreported += 1
        elif callback == "at once":
            if task:
                self.enter(failure(run, Level.TASK))
                self.play()
            self.enter(failure(run))
        else:
            self.callbacks.append(failure(run))
        self.failed += 1

    @rule()
    def a_run_succeeds(self) -> None:
        self.succeeded += 1
        self.after_newest += 1

    @rule(minutes=st.integers(1, 4))
    def time_passes_without_rounds(self, minutes: int) -> None:
        self.come()
        self.now += minutes * MINUTE

    @rule()
    def a_minute_passes(self) -> None:
        self.now += MINUTE
        self.come()
        self.play()

    def come(self) -> None:
        """Late callbacks come before their time is over."""
        for alert in self.callbacks:
            self.enter(alert)
        self.callbacks = []

    def play(self) -> None:
        incidents = list(open_incidents(self.history()).values())
        now = RunCount(
            "topics",
            self.now,
            succeeded=self.succeeded if incidents else None,
            failed=self.failed,
            open_alerts=tuple(incident.newest.id for incident in incidents),
        )
        for incident in incidents:
            before = successes_before(incident.newest, self.counts)
            if before is not None and self.succeeded > before:
                assert self.after_newest, "no run has succeeded since it failed"
                self.alerts.append(replace(incident.newest, id=f"over{len(self.alerts)}", level=Level.RECOVERY))
        found = review(self.counts, self.about_runs(), now)
        if found.unreported and found.record is not None:
            self.told_of_lost += found.unreported
            told = make_alert(f"lost{len(self.alerts)}", run_id="", level=Level.DAG)
            self.enter(told)
            self.counts.append(replace(found.record, unnamed=told.id))
        elif found.record is not None:
            self.counts.append(found.record)

    def about_runs(self) -> Sequence[Alert]:
        return self.history().about_runs("topics")

    @invariant()
    def no_more_are_lost_than_have_said_nothing(self) -> None:
        assert self.told_of_lost <= self.unreported

    @rule()
    def a_quiet_quarter_of_an_hour_passes(self) -> None:
        """Then every run that failed is told of, and a success ends what is open."""
        for _ in range(15):
            self.a_minute_passes()
        assert self.told_of_lost == self.unreported
        self.a_run_succeeds()
        for _ in range(2):
            self.a_minute_passes()
        assert open_incidents(self.history()) == {}
        size = len(self.counts)
        for _ in range(3):
            self.a_minute_passes()
        assert len(self.counts) <= size + 1, "what says nothing new is not put on record"


TestFailingRuns = FailingRuns.TestCase
TestFailingRuns.settings = settings(max_examples=80, stateful_step_count=20, deadline=None)
