"""A topic that cannot be declared soundly is refused, with the reason and what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import pytest

from sluice.cli.topics.importing import write
from sluice.errors import RefusedError, UnreachableError
from sluice.specs.load import scan
from sluice.topics.administration import TopicCreation, TopicState
from sluice.topics.records import Record
from sluice.topics.replica_administration import Throttle
from tests.unit.provisioning.importing.scene import AT, TOPIC, Scene


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
    scene.cluster.polls_per_move = 99
    scene.cluster.reassign({(TOPIC, 0): (3,)})


def throttled(scene: Scene) -> None:
    key = (TOPIC, 0)
    scene.cluster.throttle(Throttle(1_000, {key: (1,)}, {key: (2,)}))


def leaderless(scene: Scene) -> None:
    extents = scene.cluster.extents

    def without_leader(topics: object) -> object:
        return {**extents(topics), TOPIC: UnreachableError("No broker leads partition 1.", fix="start it.")}  # type: ignore[arg-type]

    scene.cluster.extents = without_leader  # type: ignore[method-assign,assignment]


def unreadable(scene: Scene) -> None:
    read = scene.records.read

    def damaged(topic: str, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[Record]:
        if topic == TOPIC:
            raise RefusedError(f"{TOPIC} has a record that cannot be read here.", fix="read other offsets of it.")
        return read(topic, start, end)

    scene.records.read = damaged  # type: ignore[method-assign]


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
        (unreadable, "events has a record that cannot be read here"),
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
