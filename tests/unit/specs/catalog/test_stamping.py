"""How far ahead of the broker's clock the plan lets a producer's timestamp be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.stamping import MAX_AHEAD, STAMPED_BY, bounds, unbounded_stamps
from sluice.specs.model.model import TopicSpec
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


HOUR, NO_BOUND = "3600000", str(2**63 - 1)
SKEW = timedelta(minutes=10)


def orders(bench: Bench, configs: str = "") -> TopicSpec:
    bench.write(TOPIC_FILE, TOPIC.replace("configs:", f"configs:\n  {configs}") if configs else TOPIC)
    return bench.scan().catalog.topics["orders"]


@pytest.mark.parametrize(
    "in_force", [{STAMPED_BY: "LogAppendTime", MAX_AHEAD: NO_BOUND}, {STAMPED_BY: "CreateTime", MAX_AHEAD: "600000"}]
)
def test_a_topic_that_is_stamped_or_bounded_as_its_readers_need_it_is_nothing_to_warn_of(
    bench: Bench, in_force: dict[str, str]
) -> None:
    assert unbounded_stamps(orders(bench), in_force, SKEW) == ""


@pytest.mark.parametrize(
    ("in_force", "ahead"),
    [
        ({STAMPED_BY: "CreateTime", MAX_AHEAD: HOUR}, "a time up to 1 hour ahead of its clock"),
        ({STAMPED_BY: "CreateTime", MAX_AHEAD: NO_BOUND}, "a time however far ahead of its clock"),
        ({}, "a time however far ahead of its clock"),
    ],
)
def test_a_topic_that_somebody_made_by_hand_takes_times_from_the_future_and_it_is_said_how_to_end_that(
    bench: Bench, in_force: dict[str, str], ahead: str
) -> None:
    said = unbounded_stamps(orders(bench), in_force, SKEW)
    assert f"the producers of orders stamp its records, and the broker takes {ahead}" in said
    assert "expect 10 minutes at most (clock_skew)" in said
    assert "`sluice topics plan orders`" in said
    assert "if others manage the topic, ask them for message.timestamp.after.max.ms=600000" in said


@pytest.mark.parametrize("bound", [HOUR, "600000"])
def test_a_topic_that_its_producers_stamp_against_its_spec_is_named_however_it_is_bounded(
    bench: Bench, bound: str
) -> None:
    stamped = orders(bench, "message.timestamp.type: LogAppendTime")
    assert unbounded_stamps(stamped, {STAMPED_BY: "LogAppendTime", MAX_AHEAD: bound}, SKEW) == ""
    said = unbounded_stamps(stamped, {STAMPED_BY: "CreateTime", MAX_AHEAD: bound}, SKEW)
    assert "the spec of orders says that the broker stamps its records, but in the cluster its producers do" in said
    assert "ask them for message.timestamp.type=LogAppendTime" in said


@given(st.none() | st.text(max_size=4) | st.integers(-(2**70), 2**70).map(str))
def test_nothing_but_a_number_of_milliseconds_within_the_skew_bounds(value: str | None) -> None:
    within = value is not None and value.isascii() and value.isdigit() and int(value) <= 600_000
    assert bounds(value, timedelta(minutes=10)) is within
