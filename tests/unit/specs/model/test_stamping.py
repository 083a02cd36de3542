"""How far ahead of the broker's clock the plan lets a producer's timestamp be."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.stamping import MAX_AHEAD, bounds
from tests.unit.specs.bench import PIPELINE, PIPELINE_FILE, TOPIC, TOPIC_FILE, Bench


def configs(bench: Bench, deployment: str = "prod") -> dict[str, str | None]:
    found = bench.scan()
    assert found.faults == ()
    return found.catalog.in_deployment(deployment).kafka_topics()["orders"].wanted_configs()


def test_a_topic_whose_producers_stamp_is_bounded_by_the_default_skew(bench: Bench) -> None:
    assert configs(bench)[MAX_AHEAD] == "600000"


def test_the_longest_skew_of_the_pipelines_that_read_it_is_let_in(bench: Bench) -> None:
    bench.write(PIPELINE_FILE, PIPELINE.replace("future_skew: 5 min", "future_skew: 5 min\n  clock_skew: 2 hours"))
    assert configs(bench)[MAX_AHEAD] == "7200000"


def test_a_narrower_bound_that_somebody_declares_stays(bench: Bench) -> None:
    bench.write(TOPIC_FILE, TOPIC.replace("configs:", 'configs:\n  message.timestamp.after.max.ms: "1000"'))
    assert configs(bench)[MAX_AHEAD] == "1000"


def test_a_topic_that_the_broker_stamps_needs_no_bound_whatever_it_says(bench: Bench) -> None:
    stamped = TOPIC.replace("configs:", "configs:\n  message.timestamp.type: LogAppendTime")
    bench.write(TOPIC_FILE, stamped)
    assert MAX_AHEAD not in configs(bench)
    bench.write(TOPIC_FILE, stamped.replace("configs:", 'configs:\n  message.timestamp.after.max.ms: "9999999999"'))
    assert configs(bench)[MAX_AHEAD] == "9999999999"


def test_only_the_deployment_in_which_the_broker_stamps_is_without_a_bound(bench: Bench) -> None:
    different = "deployments: {prod: {configs: {message.timestamp.type: LogAppendTime}}}\n"
    bench.write(TOPIC_FILE, TOPIC.replace("value:\n", f"{different}value:\n"))
    assert MAX_AHEAD not in configs(bench)
    assert configs(bench, "elsewhere")[MAX_AHEAD] == "600000"


def test_the_topics_that_are_only_filled_are_left_alone() -> None:
    assert Catalog().kafka_topics() == {}


@given(st.none() | st.text(max_size=4) | st.integers(-(2**70), 2**70).map(str))
def test_nothing_but_a_number_of_milliseconds_within_the_skew_bounds(value: str | None) -> None:
    within = value is not None and value.isascii() and value.isdigit() and int(value) <= 600_000
    assert bounds(value, timedelta(minutes=10)) is within
