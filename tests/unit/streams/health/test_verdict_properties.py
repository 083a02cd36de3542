"""What holds of every verdict, whatever was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.catalog.rhythm import Rhythm
from sluice.streams.health.health import FINE, Health
from sluice.streams.health.observation import Observation
from sluice.streams.health.verdict import judge
from sluice.streams.health.window import Window
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.position.checkpoint import PlannedBatch
from sluice.topics.administration import RecordStamp
from tests.twins.clock import START
from tests.twins.observations import observed, steadily, window_of

PARTITIONS = ["flights/0", "flights/1", "flights/2"]
offsets = st.dictionaries(st.sampled_from(PARTITIONS), st.integers(0, 10**6))
moments = st.integers(-(10**6), 10**6).map(lambda seconds: START + timedelta(seconds=seconds))
drivers = st.builds(
    DriverReport,
    st.just("local.flights.g1"),
    st.sampled_from(DriverState),
    started_at=st.none() | moments,
    ended_at=st.none() | moments,
    exit_code=st.none() | st.integers(-15, 12),
)
evidence = st.builds(
    Observation,
    at=st.just(START),
    driver=st.none() | drivers,
    committed=st.none() | offsets,
    batches=st.integers(0, 100),
    committed_at=st.none() | moments,
    ends=st.none() | offsets,
    starts=st.none() | offsets,
    stop_requested=st.booleans(),
    running=st.none()
    | st.builds(PlannedBatch, st.integers(0, 100), offsets, st.none(), planned_at=st.none() | moments),
    stamps=st.dictionaries(st.sampled_from(PARTITIONS), st.builds(RecordStamp, moments, st.booleans())),
    watermark=st.none() | moments,
    topic_id=st.sampled_from(["", "a", "b"]),
    rhythm=st.builds(
        Rhythm,
        st.integers(0, 600).map(lambda s: timedelta(seconds=s)),
        retention=st.none() | st.just(timedelta(hours=3)),
    ),
)
pasts = st.lists(
    st.builds(
        lambda count, every, lasting, more: [
            observed(at, steadily(count, every=every, lasting=lasting, begin=-86_400), count * 600 + more)
            for at in (-600, -60)
        ],
        st.integers(0, 30),
        st.integers(1, 300),
        st.integers(1, 300),
        st.integers(0, 10**5),
    ),
    max_size=1,
).map(lambda observations: window_of(observations[0]) if observations else Window())


@given(evidence, pasts, st.none() | moments)
def test_whatever_is_seen_has_a_verdict_with_a_sentence(
    seen: Observation, past: Window, since: datetime | None
) -> None:
    verdict = judge(seen, past.add(seen), lagging_since=since)
    assert verdict.why.endswith(".")
    assert verdict.why == judge(seen, past.add(seen), lagging_since=since).why
    assert 0 <= verdict.completeness <= 1
    assert (verdict.lag_seconds or 0) >= 0
    assert (verdict.loss_seconds or 0) >= 0


@given(evidence, pasts)
def test_ok_and_idle_take_a_live_driver_and_all_that_there_is_to_observe(seen: Observation, past: Window) -> None:
    if judge(seen, past.add(seen)).health in FINE:
        assert seen.driver is not None
        assert seen.driver.state is DriverState.RUNNING
        assert seen.committed is not None
        assert seen.ends
        assert not seen.stop_requested


@given(evidence, pasts, st.sampled_from(["driver", "committed", "ends"]))
def test_losing_evidence_never_makes_a_verdict_better(seen: Observation, past: Window, lost: str) -> None:
    blind = replace(seen, **{lost: None})
    found, blinded = judge(seen, past.add(seen)), judge(blind, past.add(blind))
    assert blinded.health in (Health.UNKNOWN, Health.STOPPED)
    assert blinded.completeness <= found.completeness
    if blinded.health is Health.STOPPED:
        assert found.health is Health.STOPPED


@given(evidence, pasts)
def test_no_past_makes_a_dead_driver_anything_but_stopped(seen: Observation, past: Window) -> None:
    dead = replace(seen, driver=DriverReport("local.flights.g1", DriverState.LOST))
    assert judge(dead, past.add(dead)).health is Health.STOPPED


@given(evidence, pasts, st.randoms())
def test_the_order_of_partitions_does_not_matter(seen: Observation, past: Window, random: Random) -> None:
    def shuffled(found: Mapping[str, int] | None) -> Mapping[str, int] | None:
        return None if found is None else dict(random.sample(sorted(found.items()), len(found)))

    other = replace(seen, committed=shuffled(seen.committed), ends=shuffled(seen.ends), starts=shuffled(seen.starts))
    assert judge(other, past.add(other)) == judge(seen, past.add(seen))


@given(evidence, st.integers(0, 10**6), st.integers(1, 10**6))
def test_more_unread_records_never_make_a_verdict_better(seen: Observation, end: int, more: int) -> None:
    seen = replace(seen, ends={"flights/0": end, **(seen.ends or {})})
    worse = replace(seen, ends={partition: end + more for partition, end in (seen.ends or {}).items()})
    if judge(worse).health is Health.IDLE:
        assert judge(seen).health is Health.IDLE
    if judge(seen).health is Health.UNKNOWN and (seen.lag_records or 0) > 0:
        assert judge(worse).health is not Health.IDLE


@given(evidence, st.integers(1, 10**6))
def test_the_passing_of_time_alone_never_turns_unknown_into_ok(seen: Observation, seconds: int) -> None:
    near = [seen.committed_at, seen.driver and seen.driver.started_at, seen.running and seen.running.planned_at]
    stamps = [stamp.at for stamp in seen.stamps.values()]
    seen = replace(seen, at=max([seen.at, *stamps, *filter(None, near)]))
    # A moment that lies ahead comes nearer, and is none of time's passing alone.
    later = replace(seen, at=seen.at + timedelta(seconds=seconds))
    if judge(seen).health is Health.UNKNOWN:
        assert judge(later).health not in FINE
