"""Verdicts that take a past: stalls, leaks, backlogs, rewinds and records that are soon gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from sluice.specs.catalog.rhythm import Rhythm
from sluice.streams.health.health import Health
from sluice.streams.health.observation import Observation
from sluice.streams.health.verdict import Verdict, judge
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.topics.administration import RecordStamp
from sluice.topics.identity import identity
from tests.twins.observations import PARTITION, Done, moment, observed, steadily, window_of

MINUTE = Rhythm(trigger=timedelta(minutes=1))


def judged(*observations: Observation, lagging_since: datetime | None = None) -> Verdict:
    """Judge the last of some observations, the others being its past."""
    return judge(observations[-1], window_of(observations), lagging_since=lagging_since)


def test_records_that_wait_longer_than_usual_are_a_stall() -> None:
    done = steadily(10)
    seen = [observed(at, done, 6100, rhythm=MINUTE) for at in (570, 680, 740)]
    assert judged(*seen[:2]).health is Health.OK
    verdict = judged(*seen)
    assert verdict.health is Health.STALLED
    assert verdict.why == (
        "100 records are unread, and for 3 min no batch was planned, where 60 s are usual; "
        "local.flights.g1 (pid 7) lives."
    )
    assert verdict.what_to_do == "sluice streams logs flights; then sluice streams restart flights"


def test_a_batch_that_is_not_committed_is_a_stall_and_says_when_the_driver_last_spoke() -> None:
    seen = observed(800, steadily(10), 6600, running=(600, 6600), rhythm=MINUTE, reported_at=moment(560))
    verdict = judged(seen)
    assert verdict.health is Health.STALLED
    assert "for 3 min batch 10 is not committed, where 60 s are usual" in verdict.why
    assert verdict.why.endswith("lives, and last said something 4 min ago.")


def test_a_batch_that_is_large_is_no_stall_and_says_how_long_it_takes() -> None:
    verdict = judged(observed(800, steadily(10), 18_000, running=(600, 18_000), rhythm=MINUTE))
    assert verdict.health is Health.OK
    assert verdict.why.endswith("a batch of 12000 of them is at work, for about 3 min more.")


def test_a_large_batch_that_takes_far_longer_than_its_size_explains_is_a_stall() -> None:
    assert judged(observed(1500, steadily(10), 18_000, running=(600, 18_000), rhythm=MINUTE)).health is Health.STALLED


def test_a_record_that_has_just_come_after_hours_of_silence_is_no_stall() -> None:
    done = steadily(10)
    seen = [observed(9000, done, rhythm=MINUTE), observed(9010, done, 6001, rhythm=MINUTE)]
    assert judged(*seen).health is Health.OK


def test_one_observation_cannot_tell_a_new_record_from_one_that_waits_for_hours() -> None:
    assert judged(observed(9000, steadily(10), 6001, rhythm=MINUTE)).health is Health.UNKNOWN


@pytest.mark.parametrize(("seconds", "health"), [(30, Health.OK), (3000, Health.STALLED)])
def test_the_brokers_timestamp_tells_them_apart(seconds: int, health: Health) -> None:
    stamps = {PARTITION: RecordStamp(moment(9000 - seconds), appended=True)}
    verdict = judged(observed(9000, steadily(10), 6001, rhythm=MINUTE, stamps=stamps))
    assert (verdict.health, verdict.lag_seconds) == (health, seconds)
    assert [lag.seconds for lag in verdict.partitions] == [seconds]


def test_a_producers_timestamp_is_shown_and_proves_nothing() -> None:
    stamps = {PARTITION: RecordStamp(moment(6000), appended=False)}
    verdict = judged(observed(9000, steadily(10), 6001, rhythm=MINUTE, stamps=stamps))
    assert (verdict.health, verdict.lag_seconds) == (Health.UNKNOWN, None)
    assert [lag.seconds for lag in verdict.partitions] == [3000]


def test_a_plan_from_the_future_is_no_sign_of_life() -> None:
    seen = observed(9000, steadily(10), 6600, running=(12_600, 6600), rhythm=MINUTE)
    assert judged(seen).health is Health.UNKNOWN


def test_a_driver_that_has_just_started_is_given_three_minutes() -> None:
    def seen(at: float) -> Observation:
        young = DriverReport("local.flights.g2", DriverState.RUNNING, 8, moment(1000))
        return observed(at, steadily(10), 8000, running=(600, 8000), rhythm=MINUTE, driver=young)

    assert judged(seen(1170)).health is Health.STARTING
    assert judged(seen(1200)).health is Health.STALLED


def leaking(minutes: int, begin: float = 0.0) -> list[Done]:
    """A batch follows the other without a rest, and each takes longer by 3 % of the time that the one before took."""
    done, at, length = steadily(3, begin=begin - 180), begin, 60.0
    while at < begin + minutes * 60:
        done.append(Done(at, at + length, done[-1].end + round(length * 10)))
        at, length = at + length + 0.1, length * 1.03
    return done


def test_a_slow_leak_is_lagging_with_since_when_and_how_much() -> None:
    done = leaking(40)
    verdict = judged(observed(done[-1].committed, done, done[-1].end + 900, rhythm=MINUTE))
    assert verdict.health is Health.LAGGING
    assert verdict.why.startswith("For 40 min more has arrived than it read: it is ")
    assert "cores" in verdict.what_to_do
    assert verdict.completeness == 1


def test_the_same_for_ten_minutes_is_no_leak_yet() -> None:
    done = leaking(10)
    assert judged(observed(done[-1].committed, done, done[-1].end + 900, rhythm=MINUTE)).health is Health.OK


def test_a_leak_on_record_counts_for_an_observation_that_remembers_nothing() -> None:
    done = leaking(40)[-8:]
    done = [replace(batch, end=batch.end) for batch in done]
    seen = observed(done[-1].committed, done, done[-1].end + 900, rhythm=MINUTE)
    assert judged(seen).health is Health.OK
    verdict = judged(seen, lagging_since=moment(1500))
    assert verdict.health is Health.LAGGING
    assert verdict.why.endswith("It was found to fall behind, and was not seen to rest or to come nearer since.")


def test_a_leak_on_record_is_over_when_the_stream_rests() -> None:
    seen = observed(580, steadily(10), 6100, rhythm=MINUTE)
    assert judged(seen, lagging_since=moment(100)).health is Health.OK


def test_a_leak_on_record_is_over_when_nothing_is_unread() -> None:
    done = [*leaking(40)[-8:]]
    assert judged(observed(done[-1].committed, done, rhythm=MINUTE), lagging_since=moment(1500)).health is Health.OK


def shrinking(first: float, factor: float, count: int) -> list[Done]:
    done, at, length = steadily(20, begin=-1200), 0.0, first
    for _ in range(count):
        done.append(Done(at, at + length, done[-1].end + round(length * 10)))
        at, length = at + length + 0.1, length * factor
    return done


def test_a_backlog_that_shrinks_says_when_it_is_gone() -> None:
    done = shrinking(1200, 0.7, 4)
    verdict = judged(observed(done[-1].committed, done, done[-1].end + 900, rhythm=MINUTE))
    assert verdict.health is Health.OK
    assert verdict.catch_up_seconds == pytest.approx(1200 * 0.7**3 * 0.7 / 0.3, rel=0.01)
    assert "it catches up in about 16 min" in verdict.why


def test_a_backlog_that_takes_hours_to_shrink_is_lagging() -> None:
    done = shrinking(1800, 0.97, 5)
    verdict = judged(observed(done[-1].committed, done, done[-1].end + 900, rhythm=MINUTE))
    assert verdict.health is Health.LAGGING
    assert "it catches up, but needs about 14 h at this pace" in verdict.why


def test_a_backlog_that_has_just_begun_to_shrink_is_given_time() -> None:
    done = shrinking(320, 0.98, 3)
    verdict = judged(observed(done[-1].committed, done, done[-1].end + 900, rhythm=MINUTE))
    assert verdict.health is Health.OK
    assert verdict.catch_up_seconds is not None
    assert verdict.catch_up_seconds > 3600


def test_what_a_few_batches_of_a_slow_stream_hold_is_no_backlog() -> None:
    done = shrinking(320, 0.98, 3)
    seen = observed(done[-1].committed, done, done[-1].end + 900, rhythm=Rhythm(trigger=timedelta(minutes=5)))
    assert judged(seen).catch_up_seconds is None


def test_a_leak_on_record_is_over_when_the_stream_comes_nearer() -> None:
    done = shrinking(100, 0.9, 5)[20:]
    seen = observed(done[-1].committed, done, done[-1].end + 900, rhythm=MINUTE)
    assert judged(seen).catch_up_seconds is None
    assert judged(seen, lagging_since=moment(-99)).health is Health.OK


def test_records_that_are_deleted_soon_are_a_risk() -> None:
    rhythm = Rhythm(timedelta(minutes=1), retention=timedelta(hours=1))
    observations = [observed(at, steadily(10), 9000, running=(600, 9000), rhythm=rhythm) for at in (600, 1800, 3000)]
    assert [judged(*observations[: n + 1]).health for n in range(3)] == [Health.OK, Health.STALLED, Health.LOSS_RISK]
    verdict = judged(*observations)
    assert verdict.why == "3000 records are unread, and in 20 min the topic's retention deletes the first of them."
    assert verdict.loss_seconds == 1200


def test_a_new_record_behind_a_log_that_was_emptied_is_no_risk() -> None:
    done = steadily(10)
    observations = [
        observed(at, done, 6000 + at // 9000, starts={PARTITION: 600 * (at // 900)}, rhythm=MINUTE)
        for at in (600, 9000)
    ]
    assert judged(*observations).health is Health.OK


def test_records_that_are_gone_unread_are_said_so() -> None:
    verdict = judged(observed(580, steadily(10), 9000, starts={PARTITION: 6500}))
    assert verdict.health is Health.LOSS_RISK
    assert verdict.why == (
        "500 records are gone that were never read: flights/0 begins 500 records after the stream's position."
    )


def test_a_topic_that_was_created_again_is_a_rewind_even_if_its_offsets_fit() -> None:
    observations = [
        observed(580, steadily(10), 6100, topic_id="old"),
        observed(590, steadily(10), 6100, topic_id="new"),
    ]
    assert judged(*observations).health is Health.REWOUND
    assert "The topic was created again (old is now new)" in judged(*observations).why


def test_a_cluster_that_begins_to_give_ids_is_a_rewind_and_said_to_be_unknown() -> None:
    observations = [
        observed(580, steadily(10), 6100, topic_id=identity("flights", None)),
        observed(590, steadily(10), 6100, topic_id=str(uuid4())),
    ]
    assert judged(*observations).health is Health.REWOUND
    assert "whether it was created again is not known" in judged(*observations).why


def test_a_position_that_went_back_is_a_rewind_until_it_is_where_it_was() -> None:
    back = [*steadily(4), Done(900, 905, 3000)]
    observations = [observed(580, steadily(10), 7000), observed(600, steadily(4), 7000), observed(910, back, 7000)]
    assert judged(*observations[:2]).why == (
        "It reads again what it had read: its position in flights/0 went back by 3600, to 2400."
    )
    assert judged(*observations).health is Health.REWOUND
    assert judged(*observations, observed(970, [*back, Done(960, 965, 6500)], 7000)).health is Health.OK


def test_a_short_past_makes_the_evidence_less_complete() -> None:
    done = leaking(40)
    whole, part = (observed(done[-1].committed, d, done[-1].end + 9, rhythm=MINUTE) for d in (done, done[-4:]))
    assert judged(part).completeness < judged(whole).completeness == 1


def test_a_stream_that_was_reset_is_not_rewound_and_what_it_reads_again_is_unread() -> None:
    before = observed(300, steadily(5))
    again = observed(400, [Done(320, 395, 600)], 3_000, epoch=1)
    verdict = judged(before, again)
    assert verdict.health is Health.OK
    assert verdict.lag_records == 2_400
    same_epoch = observed(400, [Done(320, 395, 600)], 3_000)
    assert judged(before, same_epoch).health is Health.REWOUND
