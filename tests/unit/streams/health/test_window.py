from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.catalog.rhythm import Rhythm
from sluice.streams.health.series import Series
from sluice.streams.health.window import MAX_BATCHES, MAX_POINTS, NO_BATCHES, CommitSample, Window
from tests.twins.clock import START
from tests.twins.observations import PARTITION, Done, moment, observed, steadily, window_of

BEGIN = START.timestamp()


def test_one_observation_brings_the_past_that_the_checkpoint_keeps() -> None:
    window = Window().add(observed(300, steadily(5)))
    assert [batch.number for batch in window.batches] == [0, 1, 2, 3, 4]
    assert [batch.records for batch in window.batches] == [None, 600, 600, 600, 600]
    assert window.span(moment(300).timestamp()) == 300


def test_a_batch_is_added_once_however_often_it_is_seen() -> None:
    window = window_of([observed(300, steadily(5)), observed(310, steadily(5)), observed(370, steadily(6))])
    assert [batch.number for batch in window.batches] == [0, 1, 2, 3, 4, 5]


def test_how_far_behind_it_was_is_the_time_from_the_plan_if_it_took_all_there_was() -> None:
    window = Window().add(observed(200, [Done(0, 50, 10), Done(50.1, 130, 20), Done(130.1, 200, 30)]))
    assert [round(point.behind) for point in window.course] == [50, 80, 70]


def test_how_far_behind_it_was_counts_from_the_arrival_if_it_left_records_for_later() -> None:
    observations = [observed(0, [], 0), observed(100, [], 1000), observed(200, [Done(190, 195, 500)], 2000)]
    # Record 500 came about 50 s after the beginning, as seen by the two observations around it.
    assert [round(point.behind) for point in window_of(observations).course] == [145]


def test_a_rest_between_two_batches_begins_a_new_course() -> None:
    window = Window().add(observed(300, [*steadily(3, every=60, lasting=60), Done(190, 200, 2400)]))
    assert len(window.course) == 1
    assert window.rested_at == moment(190).timestamp()


def test_a_wait_for_the_trigger_after_a_full_batch_is_no_rest() -> None:
    capped = Rhythm(cap=600)
    window = Window().add(observed(300, steadily(4), rhythm=capped))
    assert window.rested_at == moment(60).timestamp()  # the size of batch 0 is not known
    assert len(window.course) == 3


def test_a_batch_without_records_is_no_point_of_the_course() -> None:
    window = Window().add(observed(100, [Done(0, 50, 10), Done(50, 51, 10), Done(51, 100, 20)]))
    assert [point.at - BEGIN for point in window.course] == [50, 100]


def test_since_when_a_record_waits_is_the_first_observation_that_saw_it() -> None:
    done = steadily(1)
    window = window_of([observed(30, done), observed(40, done, 601), observed(50, done, 602)])
    assert window.waiting_since == moment(40).timestamp()
    assert window.saw_arrival(600)


def test_nothing_waits_when_all_is_read() -> None:
    assert window_of([observed(30, steadily(1), 601), observed(90, steadily(2))]).waiting_since is None


def test_a_record_that_the_first_observation_found_has_not_been_seen_to_come() -> None:
    window = Window().add(observed(30, steadily(1), 601))
    assert not window.saw_arrival(600)
    assert window.arrival(600) == moment(30).timestamp()


def test_an_observation_that_saw_nothing_leaves_no_trace_but_its_number() -> None:
    before = Window().add(observed(30, steadily(1)))
    blind = observed(40, [], ends=None, starts=None, committed=None, batches=0)
    assert before.add(blind)._replace(observations=before.observations) == before


def test_the_highest_position_is_kept_when_the_checkpoint_goes_back() -> None:
    window = window_of([observed(300, steadily(5)), observed(310, steadily(2))])
    assert window.high == {PARTITION: 3000}
    assert window.newest == 1


def test_another_topic_with_a_new_position_begins_anew() -> None:
    old = observed(300, steadily(5), topic_id="old")
    assert window_of([old, observed(400, [Done(390, 395, 10)], topic_id="new")]).high == {PARTITION: 10}


def test_another_topic_under_the_old_position_is_remembered() -> None:
    window = window_of([observed(300, steadily(5), topic_id="old"), observed(400, steadily(5), topic_id="new")])
    assert (window.topic_id, window.high) == ("old", {PARTITION: 3000})


def test_it_is_bounded_and_keeps_what_is_recent_in_full() -> None:
    busy = [Done(n * 10.0, n * 10.0 + 10, n * 5) for n in range(1, 3000)]
    window = Window()
    for count in range(1, len(busy), 7):
        window = window.add(observed(busy[count].committed, busy[max(0, count - 7) : count + 1]))
        window = window._replace(batches=forgotten(window.batches))
    assert len(window.batches) == MAX_BATCHES
    assert len(window.samples) <= MAX_POINTS
    assert len(window.course) <= MAX_POINTS
    latest = [point.at for point in window.course][-20:]
    assert all(later - earlier <= 10 for earlier, later in pairwise(latest))


def forgotten(batches: Series[CommitSample]) -> Series[CommitSample]:
    """Return the batches without their numbers, so that the next observation's may begin anew."""
    found = NO_BATCHES
    for batch in batches:
        found = found.plus(-1, batch.planned, batch.committed, batch.end, batch.records or -1)
    return found


@pytest.mark.parametrize("seconds", [1, 5, 11])
def test_samples_are_some_seconds_apart_and_the_newest_is_there(seconds: int) -> None:
    window = window_of(observed(n * seconds, [], n) for n in range(60))
    at = [sample.at for sample in window.samples]
    assert at[-1] == moment(59 * seconds).timestamp()
    assert all(later - earlier >= min(10, seconds) for earlier, later in pairwise(at[:-1]))
    assert len(at) <= 60 * seconds / 10 + 2


@given(st.permutations([f"flights/{n}" for n in range(5)]))
def test_the_order_of_partitions_does_not_matter(order: list[str]) -> None:
    offsets = {partition: int(partition[-1]) * 10 for partition in order}
    seen = [
        observed(
            n * 10, [], committed=offsets, ends={p: o + n for p, o in offsets.items()}, starts=dict.fromkeys(order, 0)
        )
        for n in range(3)
    ]
    ordered = [
        replace(s, ends=dict(sorted((s.ends or {}).items())), committed=dict(sorted(offsets.items()))) for s in seen
    ]
    assert window_of(seen) == window_of(ordered)


def test_a_reset_is_another_story_and_no_way_back() -> None:
    before = window_of([observed(300, steadily(5), 9_000)])
    reset = before.add(observed(310, [], 9_000, committed={PARTITION: 600}, epoch=1))
    assert (reset.epoch, reset.batches, dict(reset.high)) == (1, NO_BATCHES, {PARTITION: 600})
    went_on = reset.add(observed(370, [Done(320, 360, 1_200)], 9_000, epoch=1))
    assert [batch.number for batch in went_on.batches] == [0]
    assert dict(went_on.high) == {PARTITION: 1_200}


def test_between_two_batches_that_nobody_has_read_no_rest_is_concluded() -> None:
    """A watcher that comes by rarely reads the newest batches only: what the stream did before them it cannot know."""
    done = steadily(40, every=60, lasting=60)
    seen = observed(done[-1].committed, done)
    window = Window().add(replace(observed(done[4].committed, done[:5]), history=observed(0, done[:5]).history))
    rested_at, course = window.rested_at, len(window.course)
    window = window.add(replace(seen, history=seen.history[:10]))
    assert [batch.number for batch in window.batches][4:7] == [4, 30, 31]
    assert window.batches[5].records is None
    assert window.rested_at == rested_at
    assert len(window.course) == course + 10


def test_the_story_of_a_stream_without_a_batch_begins_with_its_first_observation() -> None:
    window = window_of([observed(100, [], 5), observed(160, [], 5)])
    assert window.span(moment(160).timestamp()) == 60


def test_of_observations_close_to_each_other_the_first_and_the_newest_are_kept() -> None:
    window = window_of([observed(at, [], at) for at in range(26)])
    assert [sample.at - BEGIN for sample in window.samples] == [0, 10, 20, 25]
