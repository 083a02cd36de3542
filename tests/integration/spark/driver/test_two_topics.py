"""A unit whose pipeline reads two topics: its interval table, its newest values, its topic and its dead letters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from pyspark.sql import SparkSession

from sluice.delta.log import read_log
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.entries import SettleEntry
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation
from tests.integration.spark.conftest import BAD_VALUES, DriverPlace, place_at, publish_two_days
from tests.integration.spark.driver.deliveries import consumed, consumed_raw
from tests.shapes import joined
from tests.shapes.joined_oracle import expected
from tests.shapes.joined_specs import joined_document
from tests.shapes.oracle import differences
from tests.shapes.weather import HEAD, PARTITIONS, TOPIC, heartbeat, values, weather, write_specs

FIRST, LAST = "2013-01-01", "2013-01-02"
SHAPE, PIPELINE, DEAD, SENT = "joined_left", "winds", "winds_dead", "winds_sent"
BAD_WEATHER = {
    b"no frame": "bad_framing",
    HEAD.replace(b"\x07", b"\x08"): "unknown_schema",
    HEAD[:-1] + b"\x04": "unknown_schema",
    HEAD: "empty",
    HEAD + b"\x1a\x7f": "malformed",
    HEAD + b"\x08\x09": "wrong_type",
    HEAD + b"\x08\x01\x10\x07": "missing_field",
}
"""Values that are none, and why: the last one lacks its report."""


@pytest.fixture
def windy(own_broker: BrokerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DriverPlace:
    """A project with the pipeline, and a broker with both topics."""
    monkeypatch.setitem(sys.modules, "transforms.joined", joined)  # of a driver in this process
    publish_two_days(own_broker.bootstrap)
    publish_weather(own_broker.bootstrap)
    place = place_at(tmp_path / "state", own_broker).with_own_project()
    include = place.home / "include"
    for file in ("pipelines/departures.yaml", "expectations/departures.yaml"):
        (include / file).unlink()
    write_specs(include, raw={**RAW, "driver": "flights"})
    (include / "pipelines" / f"{PIPELINE}.yaml").write_text(json.dumps(document()))
    (place.home / "spark_jobs" / "transforms" / "joined.py").write_bytes(Path(joined.__file__).read_bytes())
    project = place.project()
    with KafkaPythonAdministration(project.kafka.bootstrap(), {}) as administration:
        shapes = {n: s for n, s in project.catalog.kafka_topics().items() if n not in ("flights", TOPIC)}
        apply(Declared(shapes), administration)
    return place


RAW = {"table": "weather_raw"}


def document() -> dict[str, object]:
    """Return the spec: the shape, with outputs of every kind that it can have."""
    found = joined_document(SHAPE)
    interval = {**dict(found.pop("output")), "kind": "intervals", "table": PIPELINE}  # type: ignore[call-overload]
    outputs = [
        interval,
        {"kind": "latest", "table": "winds_latest", "keys": ["flight_id"]},
        {"kind": "topic", "topic": SENT, "keys": ["flight_id"], "where": "wind > 15", "create": {"partitions": 2}},
        {"kind": "dead_letters", "topic": DEAD, "create": {"partitions": 2}},
    ]
    return {**found, "name": PIPELINE, "driver": "flights", "outputs": outputs}


def publish_weather(bootstrap: str) -> None:
    with KafkaPythonAdministration((bootstrap,), {}) as administration:
        administration.create([TopicCreation(TOPIC, PARTITIONS, 1, {"retention.ms": "-1"})])
    table = weather(FIRST, LAST)
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for partition, value in [*values(table), *((0, bad) for bad in BAD_WEATHER)]:
        producer.send(TOPIC, value=value, partition=partition)
    closes = f"{table['published'].max() + pd.Timedelta(hours=6):%FT%TZ}"
    producer.send(TOPIC, value=heartbeat(closes), partition=1)
    producer.close()


def assert_settled(place: DriverPlace) -> None:
    ledger = place.project().tables.ledger(PIPELINE)
    wanted = expected(SHAPE, FIRST, LAST)
    settled = wanted[wanted["at"] < pd.Timestamp(ledger.closed_until)]
    assert len(settled) > 1_500
    assert differences(SHAPE, place.table(PIPELINE), settled) == []
    assert not any(row.dirty for row in ledger.spans)


@pytest.mark.verify
@pytest.mark.timeout(400)
def test_every_output_of_a_pipeline_gets_what_two_topics_hold(windy: DriverPlace, spark: SparkSession) -> None:
    assert windy.finish(spark, generation=1) is ExitCode.STOPPED
    assert_settled(windy)
    wanted = expected(SHAPE, FIRST, LAST).set_index("flight_id")["wind"]
    newest = windy.table("winds_latest").set_index("flight_id")["wind"]
    assert len(newest) > 1_000
    assert newest.fillna(-1).to_dict() == wanted[newest.index].fillna(-1).to_dict(), "those that are there are right"
    bootstrap = windy.project().kafka.bootstrap()[0]
    sent = {value["flight_id"]: value["wind"] for value in consumed(bootstrap, SENT).once}
    strong = newest[newest > 15]
    assert len(strong) > 100
    assert sent == strong.to_dict()
    letters = consumed_raw(bootstrap, DEAD)
    heads = [{key: value.decode() for key, value in letter.headers} for letter in letters]
    of_weather = [head for head in heads if head["__sluice.errors.topic"] == TOPIC]
    reasons = {letter.value: head["__sluice.errors.reason"] for letter, head in zip(letters, heads, strict=True)}
    assert len(of_weather) == len(BAD_WEATHER)
    assert {value: reasons[value] for value in BAD_WEATHER} == BAD_WEATHER
    assert len(heads) - len(of_weather) == len(BAD_VALUES)
    entries = [logged.entry for logged in read_log(windy.state / "tables" / PIPELINE)]
    newest_entry = next(entry for entry in reversed(entries) if isinstance(entry, SettleEntry))
    assert set(newest_entry.sources) == {"flights", TOPIC}


@pytest.mark.verify
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kill", ["before_write", "after_write_before_commit"])
def test_a_driver_that_dies_at_a_settlement_of_two_topics_loses_and_doubles_nothing(
    windy: DriverPlace, spark: SparkSession, kill: str
) -> None:
    failpoint = f"{kill}@{PIPELINE}"
    died: subprocess.CompletedProcess[str] = windy.run(generation=1, failpoint=failpoint)
    assert windy.fired(failpoint), died.stderr[-3000:]
    assert windy.finish(spark, generation=2) is ExitCode.STOPPED
    assert_settled(windy)


@pytest.mark.verify
@pytest.mark.timeout(400)
def test_a_topic_that_was_created_again_stops_the_pipeline_until_its_stream_is_reset(
    windy: DriverPlace, spark: SparkSession
) -> None:
    assert windy.finish(spark, generation=1) is ExitCode.STOPPED
    bootstrap = windy.project().kafka.bootstrap()
    client = KafkaAdminClient(bootstrap_servers=bootstrap[0])
    client.delete_topics([TOPIC])
    client.close()
    publish_weather(bootstrap[0])
    assert windy.finish(spark, generation=2) not in (ExitCode.STOPPED, ExitCode.CORRUPT)
    assert_settled(windy)
