"""What is written for a topic that exists is sound, and its plan is empty; or it is refused, with the reason."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluice.cli.topics.importing import write
from sluice.errors import UnreachableError
from sluice.provisioning.apply import current_plan
from sluice.provisioning.importing.importer import MAX_RECORDS, Importer, read_sample, sample_ranges
from sluice.provisioning.importing.proposal import Proposal, Rejection
from sluice.provisioning.plans.changes import Risk
from sluice.provisioning.plans.declared import Declared
from sluice.specs.load import load_catalog, scan
from sluice.specs.model.model import FieldType, TopicSpec
from sluice.specs.model.stamping import MAX_AHEAD
from sluice.topics.administration import TopicCreation, TopicExtent, TopicState
from sluice.topics.replica_administration import Throttle
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.topic_records import NOON, InMemoryRecords
from tests.unit.specs.bench import Bench, sound_project

TOPIC = "events"
AT = {"at": "2013-01-07T12:00:00Z"}


class Scene:
    """A sound project, a cluster of three brokers, and one topic on it that nobody has declared."""

    def __init__(self, home: Path) -> None:
        self.bench: Bench = sound_project(home)
        self.cluster = InMemoryKafkaAdministration(brokers=3)
        self.records = InMemoryRecords(self.cluster)
        self.cluster.create([TopicCreation(TOPIC, 2, 1)])

    def send(self, *values: object, key: bytes | None = None, topic: str = TOPIC) -> None:
        for value in values:
            self.records.append(topic, 0, value if isinstance(value, bytes) else json.dumps(value).encode(), key=key)

    @property
    def importer(self) -> Importer:
        include = self.bench.include
        return Importer(include, load_catalog(include), "prod", 1, self.cluster, self.records)

    def proposal(self) -> Proposal:
        proposed, rejected = self.importer.propose([TOPIC])
        assert rejected == []
        return proposed[0]

    def rejection(self, topic: str = TOPIC) -> Rejection:
        proposed, rejected = self.importer.propose([topic])
        assert proposed == []
        return rejected[0]

    def spec(self) -> TopicSpec:
        """Write what is proposed, and read all specs."""
        written, present = write([self.proposal()], self.bench.include / "topics")
        assert (len(written), present) == (1, [])
        assert scan(self.bench.include).faults == ()
        return load_catalog(self.bench.include).topics[TOPIC]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


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


def test_fields_are_proposed_with_their_types_and_whether_each_record_has_them(scene: Scene) -> None:
    scene.send(
        {
            **AT,
            "id": 1,
            "price": 1,
            "name": "Alice",
            "open": True,
            "tags": ["a"],
            "mixed": 1,
            "some": None,
            "big": 2**63,
        },
        {**AT, "id": 2, "price": 1.5, "name": "Bob", "open": False, "tags": {}, "mixed": "x", "some": 2, "big": 1},
    )
    assert {name: (field.type, field.required) for name, field in scene.spec().value.fields.items()} == {
        "at": (FieldType.TIMESTAMP, True),
        "id": (FieldType.LONG, True),
        "price": (FieldType.DOUBLE, True),
        "name": (FieldType.STRING, True),
        "open": (FieldType.BOOLEAN, True),
        "tags": (FieldType.STRING, True),
        "mixed": (FieldType.STRING, True),
        "some": (FieldType.LONG, False),
        "big": (FieldType.DOUBLE, True),
    }


def test_no_value_of_a_record_is_written(scene: Scene) -> None:
    person = {"name": "Alice Example", "mail": "alice@example.org", "card": 4711_0815_2342, "alice@example.org": 1}
    scene.send({**AT, **person, "born": "1970-05-17T00:00:00Z"}, key=b"alice-key")
    text = scene.proposal().text.lower()
    assert not [word for word in ("alice", "example", "4711", "1970", "2013") if word in text]


def test_times_are_proposed_by_what_they_do_and_by_what_they_are_called(scene: Scene) -> None:
    for second in range(9):
        at = NOON + timedelta(seconds=second)
        scene.send({"sent": at.isoformat(), "event_time": (at - timedelta(seconds=second * 5 % 7)).isoformat()})
    value = scene.spec().value
    assert (value.event_time, value.arrival_time) == ("event_time", "sent")


def test_a_name_says_which_time_is_the_arrival(scene: Scene) -> None:
    for second in (5, 3, 4):
        at = (NOON + timedelta(seconds=second)).isoformat()
        scene.send({"received_at": at, "made_at": at, "gone_at": at if second > 3 else None})
    value = scene.spec().value
    assert (value.event_time, value.arrival_time) == ("made_at", "received_at")


def test_a_single_time_is_both_and_the_file_says_what_that_means(scene: Scene) -> None:
    scene.send(AT)
    value = scene.spec().value
    assert (value.event_time, value.arrival_time) == ("at", "at")
    assert (
        "nothing is ever late; or set message.timestamp.type"
        in (scene.bench.include / f"topics/{TOPIC}.yaml").read_text()
    )


def test_where_the_broker_stamps_records_that_is_their_arrival(scene: Scene) -> None:
    scene.cluster.set_configs(TOPIC, {"message.timestamp.type": "LogAppendTime"})
    scene.send({**AT, "received_at": AT["at"]})
    assert scene.spec().value.arrival_time == "broker"


@pytest.mark.parametrize("key", [None, b"k"])
def test_records_with_keys_make_it_keyed(scene: Scene, key: bytes | None) -> None:
    scene.send(AT, AT)
    scene.send(AT, key=key)
    assert scene.spec().keyed == (key is not None)


def test_replication_is_named_only_where_it_is_not_the_deployments(scene: Scene) -> None:
    scene.send(AT)
    assert scene.spec().replication is None
    scene.cluster.create([TopicCreation("copied", 1, 3)])
    scene.send(AT, topic="copied")
    (copied,), _ = scene.importer.propose(["copied"])
    assert "\nreplication: 3\n" in copied.text


def test_the_raw_stream_gets_a_driver_of_its_own(scene: Scene) -> None:
    scene.cluster.create([TopicCreation("shop", 1, 1)])  # the name of a driver in the project
    scene.send(AT, topic="shop")
    (shop,), _ = scene.importer.propose(["shop"])
    assert "table: shop_raw\n  driver: shop_raw\n" in shop.text


@pytest.mark.parametrize(
    ("value", "epoch", "zone"),
    [
        ({"ts": 1_357_560_000}, "seconds", None),
        ({"ts": 1_357_560_000_000}, "milliseconds", None),
        ({"ts": 1_357_560_000_000_000}, "microseconds", None),
        ({"ts": "2013-01-07T12:00:00"}, None, "UTC"),
        ({"ts": "2013-01-07T12:00:00Z"}, None, None),
    ],
)
def test_a_time_is_declared_as_it_is_written(scene: Scene, value: object, epoch: str | None, zone: str | None) -> None:
    scene.send(value, value)
    found = scene.spec().value
    assert found.event_time == "ts"
    assert (found.fields["ts"].epoch, found.fields["ts"].zone) == (epoch, zone)


@pytest.mark.parametrize(
    ("values", "why", "fix"),
    [
        ([], "it holds no record", "send one, or write include/topics/events.yaml by hand"),
        (
            [b"\xff", b"1", b"[]", b"", b"{", b'{"at": NaN}'],
            "none of 6 sampled records is a JSON object",
            "JSON objects",
        ),
        ([{"id": 1}], "event_time needs a field that is a time", "have its producers send such a field"),
        ([AT, {"at": None}], "and 'at' is one only in some", ""),
        ([AT, {"at": "soon"}], "in every record; it has none", ""),
        ([{"amount": 1_357_560_000_000}], "and 'amount' holds numbers, and is not named like a time", ""),
        ([{"at": "0001-01-01T00:00:00Z"}], "it has none", ""),
        ([{"at": "2013-02-30T00:00:00Z"}], "it has none", ""),
        ([{"at": "2013-01-07"}], "it has none", ""),
        ([{**AT, **{f"user_{n}": 1 for n in range(200)}}], "more than 200 different keys", "by hand"),
    ],
)
def test_what_cannot_be_declared_is_refused_with_the_reason(
    scene: Scene, values: list[object], why: str, fix: str
) -> None:
    scene.send(*values)
    rejection = scene.rejection()
    assert why in rejection.why
    assert fix in rejection.fix


def configured(config: str, value: str) -> Callable[[Scene], None]:
    return lambda scene: scene.cluster.set_configs(TOPIC, {config: value})


def uneven(scene: Scene) -> None:
    scene.cluster.reassign({(TOPIC, 1): (1, 2)})
    scene.cluster.moving()


def under_way(scene: Scene) -> None:
    scene.cluster.looks_per_move = 99
    scene.cluster.reassign({(TOPIC, 0): (3,)})


def throttled(scene: Scene) -> None:
    key = (TOPIC, 0)
    scene.cluster.throttle(Throttle(1_000, {key: (1,)}, {key: (2,)}))


def leaderless(scene: Scene) -> None:
    extents = scene.cluster.extents

    def without_leader(topics: object) -> object:
        return {**extents(topics), TOPIC: UnreachableError("No broker leads partition 1.", fix="start it.")}  # type: ignore[arg-type]

    scene.cluster.extents = without_leader  # type: ignore[method-assign,assignment]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (configured("cleanup.policy", "compact"), "cleanup.policy is compact"),
        (configured("retention.ms", "1500"), "retention.ms is 1500, and a spec has whole seconds"),
        (configured("retention.ms", str(2**63 - 1)), "up to a century"),
        (configured("retention.ms", "9000000000000000"), "up to a century"),
        (uneven, "its partitions have 1 or 2 replicas"),
        (under_way, "its replicas are being moved"),
        (throttled, "or has left its throttle"),
        (leaderless, "No broker leads partition 1"),
    ],
)
def test_a_topic_that_no_spec_describes_is_refused_and_the_others_go_on(
    scene: Scene, spoil: Callable[[Scene], None], why: str
) -> None:
    scene.send(AT)
    scene.cluster.create([TopicCreation("other", 1, 1)])
    scene.send(AT, topic="other")
    spoil(scene)
    proposed, (rejection,) = scene.importer.propose([TOPIC, "other"])
    assert [proposal.topic for proposal in proposed] == ["other"]
    assert rejection.topic == TOPIC
    assert why in rejection.why
    assert rejection.fix


def test_what_a_plan_would_change_is_refused_whatever_it_is(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.send(AT)
    found = scene.importer
    described = scene.cluster.describe
    states = iter([described([TOPIC])])  # afterwards somebody changes it

    def changing(names: Iterable[str]) -> Mapping[str, TopicState]:
        if (first := next(states, None)) is not None:
            return first
        scene.cluster.topics[TOPIC] = replace(scene.cluster.topics[TOPIC], configs={"retention.ms": "1000"})
        return described(names)

    monkeypatch.setattr(scene.cluster, "describe", changing)
    proposed, (rejection,) = found.propose([TOPIC])
    assert proposed == []
    assert rejection.why == "a plan would change it (events: retention.ms is 1000, declared unset)"


def test_a_stream_of_the_same_name_is_a_fault_that_refuses(scene: Scene) -> None:
    shutil.copy(scene.bench.include / "pipelines/sales.yaml", scene.bench.include / "pipelines/raw_events.yaml")
    for old, new in (
        ("name: sales", "name: raw_events"),
        ("table: sales", "table: other"),
        ("driver: shop", "driver: o"),
    ):
        scene.bench.edit("include/pipelines/raw_events.yaml", old, new)
    assert scan(scene.bench.include).faults == ()
    scene.send(AT)
    assert "already the name of the raw stream" in scene.rejection().why


def test_what_is_not_ours_to_declare_is_refused(scene: Scene) -> None:
    scene.cluster.create([TopicCreation(name, 1, 1) for name in ("__consumer_offsets", "Odd.Name", "orders")])
    scene.bench.write("include/topics/gone.yaml", "name: gone\nstate: absent\n")
    _, rejected = scene.importer.propose(["__consumer_offsets", "Odd.Name", "orders", "gone", "event"])
    assert [(rejection.topic, rejection.why) for rejection in rejected] == [
        ("Odd.Name", "a spec's name is a lower-case letter, then at most 62 of a-z, 0-9 and underscore"),
        ("__consumer_offsets", "it belongs to Kafka or to another program, which changes it as it likes"),
        ("event", "the cluster has no such topic"),
        ("gone", "the cluster has no such topic"),
        ("orders", "include/topics/orders.yaml declares it already"),
    ]
    assert rejected[2].fix == "did you mean 'events'?"
    assert scene.importer.undeclared() == ("Odd.Name", "events")


def test_no_file_is_overwritten(scene: Scene) -> None:
    scene.send(AT)
    file = scene.bench.write("elsewhere/events.yaml", "mine")
    written, (present,) = write([scene.proposal()], file.parent)
    assert written == []
    assert "no file is overwritten" in present.why
    assert file.read_text() == "mine"


@given(st.dictionaries(st.integers(0, 300), st.tuples(st.integers(0, 50), st.integers(0, 5_000)), max_size=300))
def test_a_sample_is_bounded_lies_within_the_topic_and_takes_no_record_twice(
    bounds: dict[int, tuple[int, int]],
) -> None:
    beginnings = {p: first for p, (first, _) in bounds.items()}
    ends = {p: first + count for p, (first, count) in bounds.items()}
    taken: set[tuple[int, int]] = set()
    for start, end in sample_ranges(TopicExtent("id", beginnings, ends)):
        for partition, last in end.items():
            offsets = {(partition, offset) for offset in range(start[partition], last)}
            assert not offsets & taken
            assert beginnings[partition] <= start[partition] <= last <= ends[partition]
            taken |= offsets
    assert len(taken) <= MAX_RECORDS
    assert bool(taken) == any(ends[p] > beginnings[p] for p in ends)


def test_the_oldest_and_the_newest_are_in_the_sample(scene: Scene) -> None:
    scene.send({"first": 1}, *({"middle": 1} for _ in range(1_000)), {"last": 1})
    assert {"first", "last"} <= read_sample(scene.records, TOPIC, scene.cluster.extent(TOPIC)).fields.keys()
