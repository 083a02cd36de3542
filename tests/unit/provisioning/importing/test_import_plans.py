"""The plan after an import changes nothing but how far ahead timestamps may be."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluice.cli.topics.importing import write
from sluice.provisioning.apply import current_plan
from sluice.provisioning.plans.changes import Risk
from sluice.provisioning.plans.declared import Declared
from sluice.specs.catalog.stamping import MAX_AHEAD
from sluice.specs.deployments.services import EVENT_HUBS
from sluice.specs.load import load_catalog
from sluice.topics.administration import TopicCreation, TopicState
from tests.unit.provisioning.importing.scene import AT, TOPIC, Scene


@pytest.mark.parametrize(
    ("there", "written", "planned"),
    [
        ({}, {}, ["600000"]),
        ({"message.timestamp.after.max.ms": "3600000"}, {}, ["600000"]),
        ({"message.timestamp.after.max.ms": "1000"}, {"message.timestamp.after.max.ms": "1000"}, []),
        ({"message.timestamp.type": "LogAppendTime"}, {"message.timestamp.type": "LogAppendTime"}, []),
    ],
)
def test_how_far_producers_clocks_may_be_ahead_is_left_to_the_next_plan(
    scene: Scene, there: dict[str, str], written: dict[str, str], planned: list[str]
) -> None:
    scene.cluster.set_configs(TOPIC, there)
    scene.send(AT)
    assert scene.spec().configs == written
    specs = load_catalog(scene.bench.include).kafka_topics()
    declared = Declared({TOPIC: specs[TOPIC]}, 1)
    found = current_plan(declared, scene.cluster)
    assert [(item.value, item.wanted, item.risk) for item in found.changes] == [
        ("message.timestamp.after.max.ms", value, Risk.SAFE) for value in planned
    ]


WORDS = st.text(max_size=12).filter(lambda text: "\0" not in text)


CONFIGS = st.dictionaries(
    st.sampled_from(["max.message.bytes", "segment.bytes", "cleanup.policy", "some.Odd-config", "true", "1"]),
    st.sampled_from(["1", "true", "null", "~", "", "delete", "on", "0x1f", "a: b # c", '"', "\\"]) | WORDS,
    max_size=4,
)


RETENTIONS = st.none() | st.just("-1") | st.integers(0, 36_525 * 86_400).map(lambda seconds: str(seconds * 1000))


TIMES = st.sampled_from(["2013-01-07T12:00:00Z", "2013-01-07 12:00:00.123", "2013-01-07T12:00:00.5+01:00"])


VALUES = st.dictionaries(
    st.sampled_from(["id", "on", "null", "true", "Upper", "with space", "kafka", "a_b"]),
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | TIMES | st.lists(st.integers()),
)


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,62}", fullmatch=True).filter(lambda name: name != "orders")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=NAMES,
    partitions=st.integers(1, 40),
    copies=st.integers(1, 3),
    configs=CONFIGS,
    retention=RETENTIONS,
    values=st.lists(VALUES | TIMES, max_size=6),
    keys=st.lists(st.none() | st.just(b"k"), min_size=1, max_size=3),
)
def test_the_plan_after_an_import_does_no_more_than_bound_timestamps(
    tmp_path_factory: pytest.TempPathFactory,
    *,
    name: str,
    partitions: int,
    copies: int,
    configs: dict[str, str],
    retention: str | None,
    values: list[object],
    keys: list[bytes | None],
) -> None:
    home = tmp_path_factory.mktemp("home")
    scene = Scene(home)
    scene.cluster.create([TopicCreation(name, partitions, copies)] if name != TOPIC else [])
    there = scene.cluster.topics[name]
    kept = {} if retention is None else {"retention.ms": retention}
    scene.cluster.topics[name] = TopicState(
        name, there.topic_id, there.replicas, {**configs, **kept}, there.leaders, there.in_sync
    )
    for number, value in enumerate([{"at": "2013-01-07T12:00:00Z"}, *values]):
        whole = {**value, **AT} if isinstance(value, dict) else value
        scene.records.append(name, 0, json.dumps(whole).encode(), key=keys[number % len(keys)])
    proposed, rejected = scene.importer.propose([name])
    if "compact" in configs.get("cleanup.policy", ""):
        assert "compact" in rejected[0].why
        return
    assert rejected == []
    write(proposed, scene.bench.include / "topics")
    catalog = load_catalog(scene.bench.include).in_deployment("prod")
    plan = current_plan(Declared({name: catalog.kafka_topics()[name]}, 1), scene.cluster)
    assert ([item.value for item in plan.changes], plan.refused, plan.kept) == ([MAX_AHEAD], (), ())
    assert catalog.topics[name].keyed == (b"k" in (keys * 7)[: len(values) + 1])
    shutil.rmtree(home)


def test_a_service_that_places_replicas_itself_is_not_asked_whether_they_move(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def moving() -> None:
        raise AssertionError("the service was asked for moves")

    scene.send(AT)
    monkeypatch.setattr(scene.cluster, "moving", moving)
    proposed, rejected = replace(scene.importer, service=EVENT_HUBS).propose([TOPIC])
    assert ([each.topic for each in proposed], rejected) == ([TOPIC], [])
