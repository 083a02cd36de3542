"""A retention that is lowered step by step: bounded, to the target, and resumable wherever it was cut off."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.provisioning.retention.steps import GRAIN_MS, Lowered, lower_in_steps, planned_steps, steps
from tests.twins.ageing_kafka import AgeingKafka
from tests.twins.clock import START, ManualClock

HOUR_MS = 3_600_000
LONGEST = 10**12


def keeping(ages_ms: list[int]) -> Callable[[int], int]:
    """Return how many records of these ages a retention keeps."""
    ordered = sorted(ages_ms)
    return lambda retention_ms: bisect_right(ordered, retention_ms)


ages = st.lists(st.integers(0, 10**8) | st.integers(5 * 10**7, 5 * 10**7 + 1_000), max_size=80)
retentions = st.integers(0, 10**8)
shares = st.sampled_from([0.1, 0.5, 0.9])


@given(ages, st.none() | st.just(-1) | retentions, retentions, shares)
def test_steps_fall_to_exactly_the_target_and_none_lets_more_go_than_it_must(
    found: list[int], before: int | None, after: int, share: float
) -> None:
    kept = keeping(found)
    taken = steps(before, after, kept, longest_ms=LONGEST, share=share)
    assert taken[-1] == after
    now = LONGEST if before is None or before < 0 else before
    for step in taken if now > after else ():
        assert step < now
        smallest = max(after, (now - 1) // GRAIN_MS * GRAIN_MS)
        assert kept(step) >= (1 - share) * kept(now) or step == smallest
        now = step


@given(ages, st.none() | retentions, retentions, shares)
def test_whoever_plans_again_from_a_step_gets_the_rest_of_them(
    found: list[int], before: int | None, after: int, share: float
) -> None:
    kept = keeping(found)
    taken = steps(before, after, kept, longest_ms=LONGEST, share=share)
    for number, step in enumerate(taken[:-1]):
        assert steps(step, after, kept, longest_ms=LONGEST, share=share) == taken[number + 1 :]


@given(ages, st.none() | retentions, retentions)
def test_there_are_few_steps_however_the_ages_lie(found: list[int], before: int | None, after: int) -> None:
    taken = steps(before, after, keeping(found), longest_ms=LONGEST)
    assert len(taken) <= 2 * len(found).bit_length() + 3


@given(ages, retentions, retentions)
def test_only_what_lets_something_go_is_worth_a_step_of_its_own(found: list[int], before: int, after: int) -> None:
    kept = keeping(found)
    taken = steps(before, after, kept, longest_ms=LONGEST)
    if kept(after) == kept(before):
        assert taken == (after,)


def test_even_records_are_halved() -> None:
    hours = [int((number + 0.5) * HOUR_MS) for number in range(64)]
    taken = steps(-1, 8 * HOUR_MS, keeping(hours), longest_ms=LONGEST)
    assert [keeping(hours)(step) for step in taken] == [32, 16, 8]


def test_a_longer_retention_is_one_step() -> None:
    assert steps(HOUR_MS, 2 * HOUR_MS, keeping([]), longest_ms=LONGEST) == (2 * HOUR_MS,)


@pytest.mark.parametrize(("after", "share"), [(-1, 0.5), (0, 0.0), (0, 1.0)])
def test_what_is_no_shorter_retention_is_refused(after: int, share: float) -> None:
    with pytest.raises(ValueError, match="no shorter retention"):
        steps(None, after, keeping([]), longest_ms=LONGEST, share=share)


def full(*, segment: int = 1, check_seconds: float = 300) -> tuple[AgeingKafka, ManualClock]:
    """Return a cluster with a topic of two partitions and 64 records, one of each half hour."""
    clock = ManualClock()
    cluster = AgeingKafka(clock, segment=segment, check_seconds=check_seconds)
    old = [START - timedelta(minutes=30 * number + 45) for number in reversed(range(64))]
    cluster.fill("t", [old[::2], old[1::2]])
    return cluster, clock


def planned(cluster: AgeingKafka, clock: ManualClock, before: int | None, after: int) -> tuple[int, ...]:
    return planned_steps(cluster, "t", before, after, now=clock.now())


def set_now(cluster: AgeingKafka) -> int:
    return int(cluster.topics["t"].configs["retention.ms"])


def left(cluster: AgeingKafka) -> int:
    return sum(end - cluster.beginnings("t")[p] for p, end in cluster.ends("t").items())


def test_each_step_is_set_once_what_the_one_before_let_go_is_gone() -> None:
    cluster, clock = full()
    lowered = list(lower_in_steps(cluster, "t", None, 4 * HOUR_MS, clock))
    taken = [each.retention_ms for each in lowered]
    assert len(taken) > 2
    assert cluster.set == [f"retention.ms={step}" for step in taken]
    assert taken[-1] == 4 * HOUR_MS
    assert all(each.gone == each.due > 0 for each in lowered)
    assert all(0 < each.seconds <= 305 for each in lowered)
    assert 0 <= 64 - sum(each.gone for each in lowered) - left(cluster) <= len(taken), "they age while it waits"


def test_the_first_step_is_the_one_that_was_planned() -> None:
    cluster, clock = full()
    first, *_ = planned(cluster, clock, None, 4 * HOUR_MS)
    assert cluster.set == []
    assert next(lower_in_steps(cluster, "t", None, 4 * HOUR_MS, clock)).retention_ms == first


def test_after_every_step_at_least_half_is_still_there() -> None:
    cluster, clock = full()
    there = [left(cluster), *(left(cluster) for _ in lower_in_steps(cluster, "t", None, 4 * HOUR_MS, clock))]
    assert there[0] == 64
    assert len(there) > 3
    assert all(2 * after >= before for before, after in pairwise(there))


def test_a_broker_that_never_looks_keeps_nobody_waiting_for_ever_and_it_is_said() -> None:
    cluster, clock = full(check_seconds=float("inf"))
    lowered = list(lower_in_steps(cluster, "t", None, 4 * HOUR_MS, clock, patience_seconds=60))
    assert set_now(cluster) == 4 * HOUR_MS
    assert all(each.gone == 0 < each.due and each.seconds == 60 for each in lowered)
    assert clock.monotonic() == 60 * len(lowered)
    assert "0 of" in str(lowered[0])
    assert "the broker has not checked yet" in str(lowered[0])


def test_whole_segments_keep_the_rest_and_it_is_said() -> None:
    cluster, clock = full(segment=10)
    (step,) = lower_in_steps(cluster, "t", 20 * HOUR_MS, 18 * HOUR_MS, clock)
    assert 0 < step.gone < step.due
    assert step.seconds == 600
    assert "segments that hold younger records" in str(step)


def test_whoever_asks_for_no_more_steps_leaves_the_rest_to_the_next_plan() -> None:
    cluster, clock = full()
    first = next(lower_in_steps(cluster, "t", None, 4 * HOUR_MS, clock))
    assert cluster.set == [f"retention.ms={first.retention_ms}"]
    assert planned(cluster, clock, set_now(cluster), 4 * HOUR_MS)[-1] == 4 * HOUR_MS
    assert list(lower_in_steps(cluster, "t", set_now(cluster), 4 * HOUR_MS, clock))
    assert set_now(cluster) == 4 * HOUR_MS


class CutError(Exception):
    """The process was killed."""


@given(st.integers(0, 3), st.sampled_from(["before", "after"]))
def test_killed_anywhere_the_next_run_goes_on_from_where_it_was(number: int, where: str) -> None:
    cluster, clock = full()
    set_before = cluster.set_configs

    def dying(topic: str, configs: Mapping[str, str | None]) -> None:
        if where == "before" and len(cluster.set) == number:
            raise CutError
        set_before(topic, configs)
        if where == "after" and len(cluster.set) == number + 1:
            raise CutError

    cluster.set_configs = dying  # type: ignore[method-assign]
    with pytest.raises(CutError):
        list(lower_in_steps(cluster, "t", None, HOUR_MS, clock))
    cluster.set_configs = set_before  # type: ignore[method-assign]
    list(lower_in_steps(cluster, "t", set_now(cluster), HOUR_MS, clock))
    assert set_now(cluster) == HOUR_MS
    numbers = [int(each.rpartition("=")[2]) for each in cluster.set]
    assert numbers == sorted(set(numbers), reverse=True), "it never rises, and none is set twice"


def test_a_step_that_lets_nothing_go_does_not_wait() -> None:
    cluster, clock = full()
    (step,) = lower_in_steps(cluster, "t", None, 1_000 * HOUR_MS, clock)
    assert step == Lowered(1_000 * HOUR_MS, 0, 0, 0.0)
    assert str(step) == "retention.ms=3600000000: 0 of 0 records went in 0 s"
