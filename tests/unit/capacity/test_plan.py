from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.capacity.batches import BatchModel
from sluice.capacity.load import BatchTime
from sluice.capacity.measured import MeasuredUnit, StoredBytes
from sluice.capacity.plan import CapacityPlan, Estimate, capacity_plan
from sluice.capacity.targets import Target, WantedRate
from sluice.errors import NotReadyError, SpecError
from sluice.specs.deployments.prices import Prices
from tests.unit.capacity.measured_load import BASE, EACH, FIXED, OF_BATCH, RATES, TRIGGER, measured, windows

PRICES = Prices(currency="EUR", core_hour=0.04, memory_gb_hour=0.005, disk_gb_month=0.05)
rates = st.floats(0.1, 1e6)


def target(rate: float, **more: float) -> Target:
    return Target(WantedRate(per_second=rate), **more)


def value(plan: CapacityPlan, name: str) -> float:
    found = plan.estimate(name).value
    assert found is not None
    return found


def test_the_cost_at_twice_the_rate_is_predicted() -> None:
    plan = capacity_plan(measured(), Target(WantedRate(factor=2)))
    mean = sum(RATES) / len(RATES)
    assert plan.rate == pytest.approx(2 * mean)
    assert value(plan, "used cores") == pytest.approx(BASE + EACH * 2 * mean)
    assert "0.200 for 0.2 batches a second" in plan.estimate("used cores").why
    assert "40 CPU s per million records x 5,833/s" in plan.estimate("used cores").why


@pytest.mark.parametrize("seed", range(12))
def test_noise_of_a_tenth_moves_the_prediction_for_twice_the_greatest_rate_by_less(seed: int) -> None:
    draw = Random(seed)
    noisy = [replace(each, cpu_seconds=each.cpu_seconds * draw.gauss(1, 0.1)) for each in windows(RATES * 4)]
    plan = capacity_plan(measured(windows=noisy), target(10_000))
    assert value(plan, "used cores") == pytest.approx(BASE + EACH * 10_000, rel=0.1)


def test_cores_are_those_of_the_greatest_demand_and_it_is_named() -> None:
    plan = capacity_plan(measured(), target(10_000, headroom=0.5))
    assert value(plan, "work") == pytest.approx(2 * (BASE + EACH * 10_000))
    assert value(plan, "keeping up") == pytest.approx(2 * 2 * OF_BATCH * 10_000)
    assert (value(plan, "cores"), plan.limit) == (2, "work")
    caught = capacity_plan(measured(), target(10_000, headroom=0.5, outage=7200, catch_up=1800))
    assert value(caught, "catching up") == pytest.approx(BASE + EACH * 50_000)
    assert (value(caught, "cores"), caught.limit) == (3, "catching up")


def test_batches_that_do_not_keep_up_decide_about_catching_up_too() -> None:
    slow = [
        BatchTime(each.records, each.seconds + 1e-4 * each.records) for each in measured().batch_times["raw_flights"]
    ]
    unit = measured(batch_times={"raw_flights": slow})
    plan = capacity_plan(unit, target(10_000, outage=3600, catch_up=3600))
    assert value(plan, "catching up") == pytest.approx(2 * 2 * (OF_BATCH + 1e-4) * 10_000)
    assert plan.limit == "catching up"


def test_a_batch_is_as_long_as_its_line_says() -> None:
    plan = capacity_plan(measured(), target(10_000, headroom=0))
    cores = value(plan, "cores")
    length = FIXED + OF_BATCH * 2 / cores * 10_000 * TRIGGER
    assert value(plan, "batch length") == pytest.approx(length)
    assert value(plan, "mean latency") == pytest.approx(TRIGGER / 2 + length)
    assert value(plan, "longest latency") == pytest.approx(TRIGGER + length)


@given(rate=rates, latency=st.floats(0.01, 60), trigger=st.sampled_from([0.0, 1.0, 5.0]))
def test_with_the_planned_cores_no_record_waits_for_longer(rate: float, latency: float, trigger: float) -> None:
    plan = capacity_plan(measured(triggers={"raw_flights": trigger}), target(rate, latency=latency))
    wanted = plan.estimate("latency")
    if wanted.value is None:
        assert latency <= FIXED + max(trigger, FIXED) + 1e-6
        assert "not to be had by cores" in wanted.why
    else:
        assert value(plan, "longest latency") <= latency * (1 + 1e-6)


@given(model=st.builds(BatchModel, st.just("s"), st.floats(0, 9), st.floats(0, 9), st.floats(0, 1), st.just(2)))
def test_a_batch_that_cannot_keep_up_takes_for_ever(model: BatchModel) -> None:
    assert math.isinf(model.times(1e9, 1)[0]) == (model.each * 1e9 >= 1)


@settings(max_examples=settings().max_examples // 5)  # each fits three hundred resamples
@given(
    low=rates,
    high=rates,
    latency=st.none() | st.floats(0.5, 60),
    outage=st.floats(0, 86_400),
    headroom=st.floats(0, 0.9),
)
def test_more_rate_never_needs_less(
    low: float, high: float, latency: float | None, outage: float, headroom: float
) -> None:
    wanted = {"outage": outage, "headroom": headroom, **({} if latency is None else {"latency": latency})}
    less, more = (capacity_plan(measured(), target(rate, **wanted), PRICES) for rate in sorted((low, high)))
    for name in ("used cores", "work", "cores", "memory", "partitions", "disk", "money"):
        assert value(less, name) <= value(more, name) * (1 + 1e-9), name


@settings(max_examples=settings().max_examples // 5)  # each fits three hundred resamples
@given(rate=rates, noise=st.lists(st.floats(0.5, 1.5), min_size=len(RATES), max_size=len(RATES)))
def test_an_interval_holds_its_value_and_nothing_is_negative(rate: float, noise: list[float]) -> None:
    noisy = [replace(each, cpu_seconds=each.cpu_seconds * by) for each, by in zip(windows(), noise, strict=True)]
    plan = capacity_plan(measured(windows=noisy), target(rate), PRICES)
    used = plan.estimate("used cores")
    assert used.low is not None
    assert used.high is not None
    assert 0 <= used.low <= (used.value or 0) <= used.high
    assert all(each.value is None or (math.isfinite(each.value) and each.value >= 0) for each in plan.estimates)


def test_more_headroom_never_needs_fewer_cores() -> None:
    needed = [value(capacity_plan(measured(), target(9_000, headroom=share / 10)), "cores") for share in range(10)]
    assert needed == sorted(needed)
    assert needed[-1] > needed[0]


def test_partitions_are_as_many_as_cores_and_what_one_can_take_is_said() -> None:
    plan = capacity_plan(measured(), target(100_000))
    assert value(plan, "partitions") == value(plan, "cores") > 1
    assert "a batch has 12 now; one partition of raw_flights takes 25,000 records/s at most" in (
        plan.estimate("partitions").why
    )
    assert capacity_plan(measured(batch_times={}), target(100)).estimate("partitions").why.endswith("has 12 now")


def test_memory_has_the_growth_of_state_and_headroom() -> None:
    plan = capacity_plan(measured(), Target(WantedRate(factor=3), headroom=0.2))
    assert value(plan, "memory") == pytest.approx((1.5e9 + 2e8) / 0.8)
    quieter = capacity_plan(measured(), Target(WantedRate(factor=0.1), headroom=0.2))
    assert value(quieter, "memory") == pytest.approx(1.5e9 / 0.8)


def test_disks_hold_what_is_kept_and_what_is_kept_for_ever_for_the_days() -> None:
    plan = capacity_plan(measured(), target(1_000, days=10))
    assert value(plan, "disk: raw table") == pytest.approx(400 * 1_000 * 864_000)
    assert value(plan, "disk: topic") == pytest.approx(2_000 * 1_000 * 86_400)
    assert value(plan, "disk") == pytest.approx(value(plan, "disk: raw table") + value(plan, "disk: topic"))


def test_a_table_takes_what_its_own_topic_brings_one_of_keys_what_it_has_and_an_unknown_one_is_named() -> None:
    stored = (
        StoredBytes("raw table a", 4e8, 1_000_000, 86_400.0, share=0.25),
        StoredBytes("table live", 5e7, 0, None),
        StoredBytes("table rows", 0, 0, None, unknown="nobody knows"),
    )
    plan = capacity_plan(measured(stored=stored), target(1000))
    assert value(plan, "disk: raw table a") == pytest.approx(400 * 250 * 86_400)
    assert value(plan, "disk: table live") == 5e7
    assert plan.estimate("disk: table rows").value is None
    assert value(plan, "disk") == pytest.approx(400 * 250 * 86_400 + 5e7)
    assert plan.estimate("disk").why.startswith("without table rows; ")
    lost = capacity_plan(measured(stored=stored[2:]), target(1000))
    assert lost.estimate("disk").value is None


def test_a_stream_of_one_of_two_topics_has_to_keep_up_with_that_alone() -> None:
    one = measured(tasks=2, shares={"raw_flights": 0.5}, stream_tasks={"raw_flights": 1})
    whole = measured(tasks=1)
    alone = value(capacity_plan(one, target(4000, headroom=0)), "keeping up")
    assert alone == pytest.approx(value(capacity_plan(whole, target(2000, headroom=0)), "keeping up"))
    assert alone == pytest.approx(OF_BATCH * 2_000)


def test_money_is_a_month_of_cores_memory_and_disk() -> None:
    plan = capacity_plan(measured(), target(10_000), PRICES)
    assert value(plan, "money: cores") == pytest.approx(value(plan, "cores") * 0.04 * 730)
    assert value(plan, "money: memory") == pytest.approx(value(plan, "memory") / 1e9 * 0.005 * 730)
    assert value(plan, "money: disk") == pytest.approx(value(plan, "disk") / 1e9 * 0.05)
    parts = ("money: cores", "money: memory", "money: disk")
    assert value(plan, "money") == pytest.approx(sum(value(plan, part) for part in parts))
    assert plan.estimate("money").unit == "EUR a month"


def test_what_has_no_price_or_was_not_measured_is_unknown_and_not_free() -> None:
    plan = capacity_plan(measured(memory_bytes=None, stored=()), target(10_000), Prices(currency="EUR", core_hour=1))
    assert plan.estimate("memory").value is None
    assert plan.estimate("disk").value is None
    assert plan.estimate("money").value == value(plan, "cores") * 730
    assert plan.estimate("money").why == "without memory and disk"
    free = capacity_plan(measured(), target(10_000), Prices(currency="EUR"))
    assert free.estimate("money").value is None
    assert not [each for each in capacity_plan(measured(), target(1)).estimates if each.name.startswith("money")]


def test_without_batches_of_several_sizes_the_latency_is_unknown() -> None:
    plan = capacity_plan(measured(batch_times={}), target(10_000, latency=10))
    assert plan.estimate("latency").value is None
    assert "too few batches of raw_flights" in plan.estimate("mean latency").why
    alone = capacity_plan(measured(shown=None), target(10_000))
    assert "shows each record by itself" in alone.estimate("mean latency").why


@pytest.mark.parametrize(
    ("unit", "says"),
    [
        (measured(RATES[:7]), "has 7 measured windows"),
        (measured(windows=[], batch_times={}), "has 0 measured windows"),
        (measured(windows=windows([0] * 20)), "read no record"),
        (measured(windows=windows([3_000, 3_100] * 10)), "3,000 to 3,100 records per second"),
    ],
)
def test_too_little_or_too_uniform_is_refused(unit: MeasuredUnit, says: str) -> None:
    with pytest.raises(NotReadyError, match=says) as refused:
        capacity_plan(unit, Target(WantedRate(factor=2)))
    assert refused.value.fix


def test_what_is_far_from_all_measurements_is_said() -> None:
    (far,) = capacity_plan(measured(), target(50_000)).notes
    assert far.startswith("50,000/s is 10 times the greatest rate that was measured (5,000/s)")
    (low,) = capacity_plan(measured(), target(10)).notes
    assert "below all that was measured" in low
    assert capacity_plan(measured(), target(5_000)).notes == []


def test_other_pipelines_and_a_full_heap_are_noted() -> None:
    plan = capacity_plan(measured(beside=("delays",), heap_used=9.5e8), target(5_000))
    assert [note.split(":")[0] for note in plan.notes] == ["the same driver runs delays", "the Java heap was 95% full"]


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(SpecError):
        capacity_plan(measured(), target(rate))


def test_a_plan_is_json() -> None:
    plan = capacity_plan(measured(), Target(WantedRate(factor=2)), PRICES)
    document = plan.as_dict()
    assert document["unit"] == "flights"
    assert [each["name"] for each in document["estimates"]][:2] == ["used cores", "work"]
    assert set(document["estimates"][0]) == set(Estimate.__dataclass_fields__)
