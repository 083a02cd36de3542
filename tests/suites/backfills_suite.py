"""What every record of backfills does. Subclasses give `backfills`, which uses `clock`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest

from sluice.errors import CorruptionError, RefusedError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import Backfill, Backfills, BackfillState, OverlapError
from sluice.intervals.backfill.request import Mode, Only, Request, StaticChoice
from tests.twins.clock import START, ManualClock


def day(number: int) -> datetime:
    return datetime(2013, 1, number, tzinfo=UTC)


def asking(first: int = 1, last: int = 3, *, pipeline: str = "departures", mode: Mode = Mode.VERIFY) -> Request:
    return Request(pipeline, Interval(day(first), day(last)), mode, by="ada", why="nightly")


def living(_: str) -> bool:
    return True


def dead(_: str) -> bool:
    return False


class BackfillsSuite:
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    def test_a_claim_is_on_record_as_running(self, backfills: Backfills) -> None:
        request = Request(
            "departures",
            Interval(day(1), day(3)),
            Mode.RECOMPUTE,
            by="ada",
            why="repair",
            only=Only.DIRTY,
            static=StaticChoice.NEWEST,
        )
        claimed = backfills.claim(request, "run-1", alive=dead)
        assert claimed == Backfill(claimed.id, "run-1", request, BackfillState.RUNNING, START)
        assert backfills.get(claimed.id) == claimed
        assert list(backfills.recent()) == [claimed]

    def test_an_id_says_pipeline_and_time_and_is_unique_within_one_second(self, backfills: Backfills) -> None:
        ids = [backfills.claim(asking(n, n + 1), f"run-{n}", alive=dead).id for n in range(1, 25)]
        assert len(set(ids)) == 24
        assert all(name.startswith("departures-20130107T120000-") for name in ids)

    def test_it_is_found_by_its_key(self, backfills: Backfills) -> None:
        claimed = backfills.claim(asking(), "run-1", alive=dead)
        assert backfills.find("run-1") == claimed
        assert backfills.find("run-2") is None

    def test_an_overlapping_request_is_refused_with_the_others_id_asker_range_and_what_to_do(
        self, backfills: Backfills
    ) -> None:
        other = backfills.claim(asking(1, 3), "run-1", alive=living)
        with pytest.raises(OverlapError) as refusal:
            backfills.claim(asking(2, 4), "run-2", alive=living)
        said = str(refusal.value)
        assert f"{other.id} works on departures from 2013-01-01T00:00Z to 2013-01-03T00:00Z (verify)" in said
        assert "ada requested it" in said
        assert f"sluice backfill status {other.id}" in said
        assert f"sluice backfill cancel {other.id}" in said
        assert list(backfills.recent()) == [other]

    @pytest.mark.parametrize(
        "other",
        [asking(3, 5), asking(1, 3, pipeline="arrivals")],
        ids=["that-only-touches-it", "of-another-pipeline"],
    )
    def test_a_request_that_shares_no_interval_is_claimed_beside_it(self, backfills: Backfills, other: Request) -> None:
        backfills.claim(asking(1, 3), "run-1", alive=living)
        assert backfills.claim(other, "run-2", alive=living).state is BackfillState.RUNNING

    def test_one_that_ended_is_in_nobodys_way(self, backfills: Backfills) -> None:
        first = backfills.claim(asking(), "run-1", alive=living)
        backfills.end(first.id, BackfillState.DONE, outcome="identical", why="")
        assert backfills.claim(asking(), "run-2", alive=living).state is BackfillState.RUNNING

    def test_one_in_the_way_that_is_proven_dead_is_ended_and_says_so(
        self, backfills: Backfills, clock: ManualClock
    ) -> None:
        first = backfills.claim(asking(), "run-1", alive=dead)
        clock.sleep(60)
        second = backfills.claim(asking(2, 4), "run-2", alive=lambda name: name != first.id)
        ended = backfills.get(first.id)
        assert (ended.state, ended.ended_at) == (BackfillState.FAILED, START + timedelta(seconds=60))
        assert "ended without a message" in ended.why
        assert second.state is BackfillState.RUNNING

    def test_not_being_able_to_look_takes_nothing_from_anybody(self, backfills: Backfills) -> None:
        first = backfills.claim(asking(), "run-1", alive=dead)

        def blind(_: str) -> bool:
            raise PermissionError

        with pytest.raises(PermissionError):
            backfills.claim(asking(), "run-2", alive=blind)
        assert list(backfills.recent()) == [first]

    def test_the_claimer_holds_its_lock_before_anybody_sees_the_claim(self, backfills: Backfills) -> None:
        held: list[str] = []
        claimed = backfills.claim(asking(), "run-1", alive=dead, hold=held.append)
        assert held == [claimed.id]

    def test_who_cannot_hold_its_lock_has_claimed_nothing_and_buried_nobody(self, backfills: Backfills) -> None:
        first = backfills.claim(asking(), "run-1", alive=dead)

        def refuse(_: str) -> None:
            raise RefusedError("somebody holds it.")

        with pytest.raises(RefusedError):
            backfills.claim(asking(), "run-2", alive=dead, hold=refuse)
        assert list(backfills.recent()) == [first]

    @pytest.mark.parametrize("end", [BackfillState.FAILED, BackfillState.CANCELLED, BackfillState.DONE, None])
    def test_what_was_done_before_a_resumption_is_told_from_what_is_done_since(
        self, backfills: Backfills, end: BackfillState | None
    ) -> None:
        first = backfills.claim(asking(), "run-1", alive=dead)
        backfills.advance(first.id, done=0, total=48)
        backfills.advance(first.id, done=24, total=48)
        assert backfills.get(first.id).done_before == 0
        if end:
            backfills.end(first.id, end, outcome="different", why="a reason")
        backfills.claim(asking(), "run-1", alive=dead)
        for done in (24, 36):
            backfills.advance(first.id, done=done, total=48)
        assert (backfills.get(first.id).done, backfills.get(first.id).done_before) == (36, 24)

    @pytest.mark.parametrize("end", [BackfillState.FAILED, BackfillState.CANCELLED, BackfillState.DONE, None])
    def test_the_same_key_takes_up_the_same_backfill(
        self, backfills: Backfills, clock: ManualClock, end: BackfillState | None
    ) -> None:
        first = backfills.claim(asking(), "run-1", alive=dead)
        backfills.advance(first.id, done=3, total=48)
        backfills.ask_cancel(first.id, "bob")
        if end:
            backfills.end(first.id, end, outcome="different", why="a reason")
        clock.sleep(60)
        again = backfills.claim(replace(asking(), by="eve"), "run-1", alive=dead)
        assert again == Backfill(
            first.id,
            "run-1",
            replace(asking(), by="eve"),
            BackfillState.RUNNING,
            START + timedelta(seconds=60),
        )
        assert list(backfills.recent()) == [again]

    def test_taking_up_does_not_let_it_into_a_range_that_is_anothers_by_now(self, backfills: Backfills) -> None:
        first = backfills.claim(asking(), "run-1", alive=living)
        backfills.end(first.id, BackfillState.FAILED, outcome="", why="no memory")
        second = backfills.claim(asking(), "run-2", alive=living)
        with pytest.raises(OverlapError, match=second.id):
            backfills.claim(asking(), "run-1", alive=living)

    def test_the_same_key_while_its_process_lives_is_refused(self, backfills: Backfills) -> None:
        first = backfills.claim(asking(), "run-1", alive=living)
        with pytest.raises(RefusedError, match=f"{first.id}.*is running"):
            backfills.claim(asking(), "run-1", alive=living)

    @pytest.mark.parametrize(
        "other",
        [asking(1, 4), asking(mode=Mode.CORRECT), asking(pipeline="arrivals"), replace(asking(), only=Only.DIRTY)],
    )
    def test_the_same_key_for_another_request_is_refused(self, backfills: Backfills, other: Request) -> None:
        backfills.claim(asking(), "run-1", alive=dead)
        with pytest.raises(RefusedError, match="another request"):
            backfills.claim(other, "run-1", alive=dead)

    def test_of_eight_threads_that_race_one_gets_the_range(self, backfills: Backfills) -> None:
        together = Barrier(8)

        def race(number: int) -> bool:
            together.wait()
            try:
                backfills.claim(asking(), f"run-{number}", alive=living)
            except OverlapError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(race, range(8))) == 1
        assert len(backfills.recent()) == 1

    def test_progress_is_seen_by_others_with_its_time(self, backfills: Backfills, clock: ManualClock) -> None:
        claimed = backfills.claim(asking(), "run-1", alive=living)
        backfills.advance(claimed.id, done=0, total=48)
        clock.sleep(5)
        backfills.advance(claimed.id, done=24, total=48)
        advanced_at = START + timedelta(seconds=5)
        assert backfills.get(claimed.id) == replace(claimed, done=24, total=48, advanced_at=advanced_at)

    def test_who_was_declared_dead_makes_no_progress(self, backfills: Backfills) -> None:
        claimed = backfills.claim(asking(), "run-1", alive=dead)
        backfills.claim(asking(), "run-2", alive=dead)
        with pytest.raises(RefusedError, match="ended without a message"):
            backfills.advance(claimed.id, done=24, total=48)

    def test_the_first_record_of_an_end_stays(self, backfills: Backfills, clock: ManualClock) -> None:
        claimed = backfills.claim(asking(), "run-1", alive=living)
        ended = backfills.end(claimed.id, BackfillState.DONE, outcome="identical", why="48 of 48")
        clock.sleep(5)
        assert backfills.end(claimed.id, BackfillState.FAILED, outcome="", why="late word") == ended
        assert (ended.state, ended.ended_at, ended.outcome, ended.why) == (
            BackfillState.DONE,
            START,
            "identical",
            "48 of 48",
        )

    def test_an_end_is_recorded_whatever_its_reason_quotes(self, backfills: Backfills) -> None:
        claimed = backfills.claim(asking(), "run-1", alive=living)
        backfills.end(claimed.id, BackfillState.FAILED, outcome="different", why="only Spark has '12\0' there")
        ended = backfills.get(claimed.id)
        assert ended.state is BackfillState.FAILED
        assert ended.why.startswith("only Spark has '12")
        assert ended.why.endswith("there")

    def test_a_wish_to_cancel_keeps_who_asked_first(self, backfills: Backfills) -> None:
        claimed = backfills.claim(asking(), "run-1", alive=living)
        assert backfills.ask_cancel(claimed.id, "bob").cancel_requested_by == "bob"
        assert backfills.ask_cancel(claimed.id, "eve").cancel_requested_by == "bob"
        assert backfills.get(claimed.id).state is BackfillState.RUNNING

    def test_what_has_ended_is_not_cancelled(self, backfills: Backfills) -> None:
        claimed = backfills.claim(asking(), "run-1", alive=living)
        backfills.end(claimed.id, BackfillState.DONE, outcome="identical", why="")
        with pytest.raises(RefusedError, match="was done at 2013-01-07T12:00:00Z"):
            backfills.ask_cancel(claimed.id, "bob")

    def test_an_id_that_is_not_there_is_refused_with_recent_ones(self, backfills: Backfills) -> None:
        claimed = backfills.claim(asking(), "run-1", alive=living)
        with pytest.raises(SpecError, match=claimed.id):
            backfills.get("departures-20990101T000000-0000")
        with pytest.raises(SpecError, match=claimed.id):
            backfills.ask_cancel("departures-20990101T000000-0000", "bob")

    def test_acting_on_one_that_is_not_there_is_a_contradiction(self, backfills: Backfills) -> None:
        with pytest.raises(CorruptionError):
            backfills.advance("departures-20130101T000000-0000", done=1, total=2)
        with pytest.raises(CorruptionError):
            backfills.end("departures-20130101T000000-0000", BackfillState.DONE, outcome="", why="")

    def test_recent_ones_come_newest_first_of_one_pipeline_or_of_all(
        self, backfills: Backfills, clock: ManualClock
    ) -> None:
        ids = []
        for number, pipeline in enumerate(["departures", "arrivals", "departures"], start=1):
            ids.append(backfills.claim(asking(number, number + 1, pipeline=pipeline), f"{number}", alive=dead).id)
            clock.sleep(1)
        assert [found.id for found in backfills.recent()] == ids[::-1]
        assert [found.id for found in backfills.recent("departures")] == [ids[2], ids[0]]
        assert [found.id for found in backfills.recent(limit=1)] == [ids[2]]

    def test_a_running_one_is_seen_however_many_came_after_it(self, backfills: Backfills, clock: ManualClock) -> None:
        first = backfills.claim(asking(), "first", alive=living)
        for number in range(60):
            clock.sleep(1)
            later = backfills.claim(asking(5, 6), f"{number}", alive=living)
            backfills.end(later.id, BackfillState.DONE, outcome="identical", why="")
        clock.sleep(1)
        last = backfills.claim(asking(5, 6), "last", alive=living)
        clock.sleep(1)
        other = backfills.claim(asking(1, 3, pipeline="arrivals"), "another pipeline's", alive=living)
        assert list(backfills.running("departures")) == [first, last]
        assert list(backfills.running()) == [first, last, other]
        assert first.id not in [found.id for found in backfills.recent("departures")]

    def test_what_is_submitted_is_on_record_with_an_id_before_anything_has_begun(self, backfills: Backfills) -> None:
        submitted = backfills.submit(asking(), "run-1", alive=living)
        assert submitted == Backfill(submitted.id, "run-1", asking(), BackfillState.SUBMITTED, START)
        assert list(backfills.recent()) == [submitted] == [backfills.find("run-1")]
        assert list(backfills.running("departures")) == []

    def test_its_process_claims_it_under_its_id(self, backfills: Backfills, clock: ManualClock) -> None:
        submitted = backfills.submit(asking(), "run-1", alive=living)
        clock.sleep(60)
        claimed = backfills.claim(asking(), "run-1", alive=dead, submitted=True)
        assert (claimed.id, claimed.state) == (submitted.id, BackfillState.RUNNING)
        assert claimed.claimed_at == START + timedelta(seconds=60)

    def test_what_is_submitted_keeps_nobody_off_its_range(self, backfills: Backfills) -> None:
        backfills.submit(asking(), "run-1", alive=living)
        other = backfills.claim(asking(), "run-2", alive=living)
        with pytest.raises(OverlapError, match=other.id):
            backfills.claim(asking(), "run-1", alive=living, submitted=True)

    def test_what_is_cancelled_before_it_began_has_ended_and_is_not_claimed(self, backfills: Backfills) -> None:
        submitted = backfills.submit(asking(), "run-1", alive=living)
        cancelled = backfills.ask_cancel(submitted.id, "bob")
        assert (cancelled.state, cancelled.why) == (BackfillState.CANCELLED, "cancelled by bob before it began")
        assert cancelled.ended_at == START
        with pytest.raises(RefusedError, match=r"was cancelled.*by bob before it began"):
            backfills.claim(asking(), "run-1", alive=dead, submitted=True)
        with pytest.raises(RefusedError, match="not running"):
            backfills.ask_cancel(submitted.id, "bob")

    def test_who_submits_it_again_takes_it_up_again(self, backfills: Backfills) -> None:
        submitted = backfills.submit(asking(), "run-1", alive=living)
        backfills.ask_cancel(submitted.id, "bob")
        assert backfills.submit(asking(), "run-1", alive=living) == submitted
        assert backfills.claim(asking(), "run-1", alive=dead, submitted=True).id == submitted.id

    def test_a_submission_leaves_one_that_runs_as_it_is(self, backfills: Backfills) -> None:
        running = backfills.claim(asking(), "run-1", alive=living)
        assert backfills.submit(asking(), "run-1", alive=living) == running
        with pytest.raises(RefusedError, match="another request"):
            backfills.submit(asking(5, 6), "run-1", alive=living)

    def test_what_died_is_submitted_anew_under_its_key(self, backfills: Backfills) -> None:
        died = backfills.claim(asking(), "run-1", alive=living)
        again = backfills.submit(asking(), "run-1", alive=dead)
        assert (again.id, again.state) == (died.id, BackfillState.SUBMITTED)

    def test_a_process_that_ends_before_it_began_leaves_a_failure(self, backfills: Backfills) -> None:
        submitted = backfills.submit(asking(), "run-1", alive=living)
        ended = backfills.end(submitted.id, BackfillState.FAILED, outcome="", why="exit code 3")
        assert (ended.state, ended.why, ended.ended_at) == (BackfillState.FAILED, "exit code 3", START)
