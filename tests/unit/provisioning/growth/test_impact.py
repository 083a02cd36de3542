"""What a plan's items touch is told beside them, and what cannot be checked is unknown and no failure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta

import pytest

from sluice.errors import UnreachableError
from sluice.provisioning.growth.impact import Impact, ImpactAnalysis
from sluice.provisioning.growth.keys import partition_of
from sluice.provisioning.plans.changes import PlannedChange
from sluice.provisioning.plans.topic_changes import delete, grow, set_config
from sluice.provisioning.retention.cut import Position
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.model import PipelineSpec, TopicSpec
from tests.twins.ageing_kafka import AgeingKafka
from tests.twins.clock import START, ManualClock
from tests.twins.topic_keys import InMemoryKeyReader

HOUR_MS = 3_600_000
PARTITIONS = 4


def catalog() -> Catalog:
    value = {"fields": {"at": {"type": "timestamp"}}, "event_time": "at", "arrival_time": "broker"}
    orders = TopicSpec.model_validate(
        {"name": "orders", "partitions": 8, "value": value, "raw": {"table": "orders_raw", "driver": "shop"}}
    )
    prices = PipelineSpec.model_validate(
        {
            "name": "prices",
            "source": "orders",
            "transform": "prices:prices",
            "time": {"allowed_lateness": "1 hour", "future_skew": "5 min"},
            "outputs": [{"kind": "latest", "table": "prices", "keys": ["shop"], "newest_by": "at"}],
            "driver": "shop",
        }
    )
    return Catalog(topics={"orders": orders}, pipelines={"prices": prices})


class Scene:
    def __init__(self, **configs: str) -> None:
        self.cluster = AgeingKafka(ManualClock())
        hours = [START - timedelta(hours=number + 0.5) for number in reversed(range(32))]
        self.cluster.fill("orders", [hours] * PARTITIONS, **configs)
        self.keys = InMemoryKeyReader({"orders": {p: [] for p in range(PARTITIONS)}})
        for number in range(200):
            key = f"key-{number}".encode()
            self.keys.logs["orders"][partition_of(key, PARTITIONS)].append(key)
        self.committed: Mapping[str, Position] = {"prices": {f"orders/{p}": 32 for p in range(PARTITIONS)}}
        self.kept: bool | None = None

    def impact(self, item: PlannedChange) -> Impact | None:
        analysis = ImpactAnalysis(
            catalog(),
            self.cluster,
            self.keys,
            lambda _topic: self.committed,
            START,
            lambda stream: self.kept if stream == "prices" else None,
        )
        return analysis.impact(item, self.cluster.topics.get(item.subject))

    def said(self, item: PlannedChange) -> str:
        found = self.impact(item)
        assert found is not None
        assert (found.topic, found.value) == (item.subject, item.value)
        json.dumps(found.facts)
        return "; ".join(found.clauses)


def retention(before: str | None, after: str | None, value: str = "retention.ms") -> PlannedChange:
    return set_config("orders", value, before, after)


GROWTH = grow("orders", PARTITIONS, 8)


def test_a_growth_tells_keys_order_streams_and_cores() -> None:
    said = Scene().said(GROWTH)
    assert "of 200 keys" in said
    assert "placed by murmur2" in said
    assert "the order of its keys would break at orders/0 at 32" in said
    assert "raw_orders reads it and keeps no state" in said
    assert "prices reads it and may keep state" in said
    assert "8 partitions, 2 cores, which 2 streams share: a batch takes 4 rounds" in said


def test_the_facts_are_for_machines() -> None:
    found = Scene().impact(GROWTH)
    assert found is not None
    assert set(found.facts) == {"touched", "keys", "drain_then_grow"}
    assert found.facts["keys"]["keys"] == 200
    assert [step["action"] for step in found.facts["drain_then_grow"]] == ["pause", "drain", "grow", "resume"]


def test_without_keys_nothing_is_said_of_them_and_nothing_read() -> None:
    scene = Scene()
    scene.keys.logs.clear()
    found = scene.impact(grow("orders", PARTITIONS, 8, keyed=False))
    assert found is not None
    assert set(found.facts) == {"touched"}
    assert "key" not in "; ".join(found.clauses)


@pytest.mark.parametrize(("kept", "word"), [(True, "keeps state"), (False, "keeps no state")])
def test_a_checkpoint_tells_whether_there_is_state(kept: bool, word: str) -> None:
    scene = Scene()
    scene.kept = kept
    assert f"prices reads it and {word}" in scene.said(GROWTH)


def test_what_cannot_be_checked_is_unknown_and_the_rest_is_told() -> None:
    scene = Scene()
    scene.keys.logs.clear()
    scene.cluster.reachable = False
    said = scene.said(GROWTH)
    assert "keys that change partition is unknown: the topic 'orders' does not exist" in said
    assert "would break is unknown: no Kafka broker could be reached" in said
    assert "raw_orders reads it" in said
    assert "how many records go is unknown: no Kafka broker" in scene.said(retention("-1", str(HOUR_MS)))


def test_a_cut_tells_what_goes_whose_it_is_and_the_steps() -> None:
    scene = Scene()
    scene.committed = {"prices": {f"orders/{p}": 20 for p in range(PARTITIONS)}, "raw_orders": None}
    said = scene.said(retention("-1", str(8 * HOUR_MS)))
    assert "at most 96 records go, 75.0% of 128" in said
    assert "prices has yet to read 16 records of them, and never will" in said
    assert "whether raw_orders has yet to read some of them is not known" in said
    assert "lowered in 2 steps: 935 minutes, 8 hours" in said


def test_a_cut_by_size_is_an_estimate() -> None:
    assert "about 96 records go" in Scene().said(retention("-1", "250", "retention.bytes"))


def test_the_brokers_default_is_not_known() -> None:
    said = Scene().said(retention(str(HOUR_MS), None))
    assert "how many records go is unknown: what the broker's default keeps is not known" in said
    assert "whether prices has yet to read" in said


def test_a_compacted_topic_loses_nothing_by_a_retention() -> None:
    scene = Scene(**{"cleanup.policy": "compact"})
    assert scene.said(retention("-1", "1")) == "no record goes: its cleanup.policy is compact, which deletes none by it"


def test_a_value_that_is_no_number_is_unknown() -> None:
    assert "unknown" in Scene().said(retention("-1", "soon"))


@pytest.mark.parametrize(
    "item",
    [
        delete("orders", PARTITIONS),
        retention(str(HOUR_MS), "-1"),
        set_config("orders", "cleanup.policy", "delete", "compact"),
    ],
    ids=["delete", "longer", "compact"],
)
def test_of_other_items_nothing_is_said(item: PlannedChange) -> None:
    assert Scene().impact(item) is None


def test_positions_are_asked_for_before_the_cluster() -> None:
    scene = Scene()

    def failing(_topic: str) -> Mapping[str, Position]:
        scene.cluster.reachable = False
        raise UnreachableError("The control database could not be queried.")

    analysis = ImpactAnalysis(catalog(), scene.cluster, scene.keys, failing, START)
    found = analysis.impact(retention("-1", "1"), scene.cluster.topics["orders"])
    assert found is not None
    assert found.clauses == ("how many records go is unknown: the control database could not be queried",)
