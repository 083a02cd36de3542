"""What is written for a topic that exists: its fields, times, keys and replication, and no value of a record."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.specs.model.model import FieldType
from sluice.topics.administration import TopicCreation
from tests.twins.topic_records import NOON
from tests.unit.provisioning.importing.scene import AT, TOPIC, Scene


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
