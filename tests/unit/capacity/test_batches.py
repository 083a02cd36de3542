from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.capacity.batches import BatchModel, batch_models
from sluice.capacity.load import BatchTime
from tests.unit.capacity.measured_load import measured

models = st.builds(
    BatchModel,
    st.just("s"),
    st.sampled_from([0.0, 0.5, 2.0, 5.0]),
    st.floats(0.01, 3),
    st.floats(1e-7, 1e-3),
    st.just(2),
)


@given(model=models, rate=st.floats(0.1, 1e5))
def test_a_batch_has_the_records_that_came_since_the_one_before(model: BatchModel, rate: float) -> None:
    assume(model.load(rate) < 0.999)
    length, mean, longest = model.times(rate, 1)
    between = max(model.trigger, length)
    assert length == pytest.approx(model.fixed + model.each * rate * between, rel=1e-6)
    assert (mean, longest) == pytest.approx((between / 2 + length, between + length))


@given(model=models, rate=st.floats(0.1, 1e5), over=st.floats(1.001, 20))
def test_with_the_cores_for_a_latency_the_longest_wait_is_just_that(
    model: BatchModel, rate: float, over: float
) -> None:
    latency = model.least_latency * over
    assert model.times(rate, model.cores_for(rate, latency))[2] == pytest.approx(latency, rel=1e-6)


def test_without_records_only_trigger_and_fixed_part_take_time() -> None:
    assert BatchModel("s", 5.0, 0.5, 1e-5, 2).least_latency == 5.5
    assert BatchModel("s", 0.0, 0.5, 1e-5, 2).least_latency == 1.0
    assert BatchModel("s", 0.2, 0.5, 1e-5, 2).least_latency == 1.0


def test_seconds_per_record_are_those_of_one_core_of_as_many_as_had_tasks() -> None:
    times = [BatchTime(1_000 * number, 0.5 + 0.01 * number) for number in range(1, 20)]
    for cores, tasks, at_work in ((4, 12, 4), (4, 3, 3), (1, 12, 1)):
        (model,) = batch_models(measured(batch_times={"s": times}, cores=cores, tasks=tasks))
        assert (model.fixed, model.each) == pytest.approx((0.5, 1e-5 * at_work))
        assert model.times(1_000, at_work) == pytest.approx(BatchModel("s", 0, 0.5, 1e-5, 1).times(1_000, 1))


@pytest.mark.parametrize("times", [[BatchTime(9, 1.0)] * 7, [BatchTime(0, 1.0)] * 20, [BatchTime(1_000, 1.0)] * 20])
def test_too_few_batches_or_those_of_one_size_give_no_model(times: list[BatchTime]) -> None:
    assert batch_models(measured(batch_times={"s": times})) == []
