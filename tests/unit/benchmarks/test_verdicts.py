"""A small sample of `make bench NAME=verdicts`, and the arithmetic of its bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.watching.verdict_monitors import Burrow
from benchmarks.watching.verdict_world import BEGIN, Fault, Simulation, Traffic, World
from benchmarks.watching.verdicts import _percentile, _poisson, _wilson, faulty, tell, world_of
from sluice.streams.health.observation import Observation
from tests.twins.clock import START
from tests.twins.observations import PARTITION, Done, observed

SEED = 77


def test_a_world_is_the_same_whenever_it_is_played() -> None:
    world = World(SEED, Traffic.BURSTS, hours=0.5)
    first, second = Simulation(world), Simulation(world)
    moments = list(first.moments())
    assert moments == list(second.moments())
    assert [first.observe(now, -1) for now in moments[-3:]] == [second.observe(now, -1) for now in moments[-3:]]


def test_an_observation_shows_nothing_of_what_is_yet_to_come() -> None:
    simulation = Simulation(World(SEED, hours=0.5))
    for now in simulation.moments():
        seen = simulation.observe(now, -1)
        assert all(batch.committed_at <= seen.at for batch in seen.history)
        assert seen.committed_at is None or seen.committed_at <= seen.at
        if seen.ends is not None:
            assert seen.lag_records is not None
            assert seen.ends[PARTITION] >= (seen.committed or {})[PARTITION]


@pytest.mark.parametrize("traffic", Traffic)
def test_healthy_traffic_raises_no_alarm(traffic: Traffic) -> None:
    ours = tell(world_of(SEED, traffic, 1.0))[0]
    assert (ours.monitor, ours.false) == ("verdicts", ())


@pytest.mark.parametrize("fault", [Fault.DEAD, Fault.STUCK])
def test_what_stands_still_is_told_within_three_cadences(fault: Fault) -> None:
    ours = tell(World(SEED, Traffic.STEADY, trigger=30.0, hours=1.0, fault=fault, fault_at=2000.0))[0]
    assert ours.cadences is not None
    assert ours.cadences <= 3


@pytest.mark.parametrize("fault", [Fault.KILLED, Fault.UNREACHABLE, Fault.RECREATED])
def test_what_is_plain_to_see_is_told_at_the_next_observations(fault: Fault) -> None:
    ours = tell(World(SEED, Traffic.STEADY, hours=0.7, fault=fault, fault_at=2000.0))[0]
    assert ours.found is not None
    assert ours.found < 60


def test_a_leak_of_two_percent_is_told_within_three_quarters_of_an_hour() -> None:
    ours = tell(World(SEED, Traffic.STEADY, trigger=30.0, hours=1.5, fault=Fault.LEAK, fault_at=1500.0))[0]
    assert ours.found is not None
    assert ours.found < 45 * 60
    assert ours.false == ()


def test_a_loss_is_told_before_it_happens() -> None:
    world = World(SEED, trigger=60.0, capped=True, hours=4.0, fault=Fault.RETENTION, fault_at=1500.0)
    ours = tell(world)[0]
    assert ours.lead is not None
    assert ours.lead > 30 * 60


def test_worlds_of_faults_are_healthy_at_first() -> None:
    assert all(faulty(SEED, fault).fault_at >= 5400 for fault in Fault)


def burrow(commits: list[tuple[float, int]], now: float, ends: list[int]) -> str:
    """Ask Burrow's rules, one observation per commit, and one now."""
    monitor, word = Burrow(), ""
    done: list[Done] = []
    for (at, offset), end in zip(commits, ends, strict=False):
        done.append(Done(at, at, offset))
        word = monitor.observe(at_begin(observed(at, done, end)))
    return monitor.observe(at_begin(observed(now, done, ends[-1]))) if now > commits[-1][0] else word


def at_begin(seen: Observation) -> Observation:
    shift = BEGIN - START
    history = tuple(replace(batch, committed_at=batch.committed_at + shift) for batch in seen.history)
    return replace(seen, at=seen.at + shift, history=history)


def test_burrows_rules_are_those_that_it_publishes() -> None:
    minutes = [(n * 60.0, n * 100) for n in range(10)]
    growing = [n * 100 + 10 + n for n in range(10)]
    assert burrow(minutes, 550, growing) == "WARN"
    assert burrow(minutes, 550, [*growing[:5], 505, *growing[6:]]) == "fine"  # one step down hides it
    assert burrow(minutes, 550, [*growing[:9], 900]) == "fine"  # nothing is unread
    assert burrow(minutes, 540 + 541, growing) == "STOP"
    assert burrow([(at, 100) for at, _ in minutes], 550, [110 + n for n in range(10)]) == "STALL"


def test_bounds_are_the_known_ones() -> None:
    assert _poisson(0) == [0.0, pytest.approx(3.689, abs=0.001)]
    assert _poisson(3) == [pytest.approx(0.619, abs=0.001), pytest.approx(8.767, abs=0.001)]
    assert _wilson(0, 100) == [0.0, pytest.approx(0.037, abs=0.0005)]
    assert _wilson(50, 100) == [pytest.approx(0.4038, abs=0.0005), pytest.approx(0.5962, abs=0.0005)]
    assert _percentile([1.0, 2.0, 3.0], 0.5) == 2.0
    assert _percentile([], 0.5) is None
