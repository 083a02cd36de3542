"""Duplicates by a declared event id: a retry and a conflict are told apart, and a restart makes none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
from kafka import KafkaProducer
from pyspark.sql import DataFrame, SparkSession

import transforms
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.quality.duplicates import Duplicate, Duplicates, Repeated
from sluice.quality.reasons import Outcome
from sluice.settings import Settings
from sluice.spark.checks.census import take_census
from sluice.spark.checks.duplicates import find_duplicates
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.records.pipeline import result_rows
from sluice.spark.records.validation import validate
from sluice.spark.sinks.raw import raw_records
from sluice.specs.model.model import TopicValue
from sluice.specs.model.sources import TimeRules
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation
from sluice.topics.records import RecordPosition
from tests.editing import edit
from tests.integration.spark.conftest import DriverPlace, values_of
from tests.oracle import differences, flights

VALUE = TopicValue.model_validate(
    {
        "fields": {
            "id": {"type": "long", "required": True},
            "shop": {"type": "string", "required": True},
            "note": {"type": "string"},
            "at": {"type": "timestamp", "required": True},
            "seen": {"type": "timestamp", "required": True},
            "beat": {"type": "boolean"},
        },
        "event_time": "at",
        "arrival_time": "seen",
        "heartbeat": "beat",
        "event_id": ["shop", "id"],
    }
)
RULES = TimeRules(allowed_lateness=timedelta(hours=3), future_skew=timedelta(hours=1))
TIMES = {"at": "2013-01-01T10:00:00Z", "seen": "2013-01-01T10:00:00Z"}
LATE = {**TIMES, "seen": "2013-01-01T14:00:00Z"}


def order(number: object, *, shop: str = "north", note: str = "", **times: str) -> bytes:
    return json.dumps({"id": number, "shop": shop, "note": note, **TIMES, **times}).encode()


def found_in(spark: SparkSession, records: Iterable[tuple[int, int, bytes]]) -> Duplicates | None:
    """Return the duplicates among records, each with its partition and offset."""
    return find_duplicates(judged(spark, records), VALUE)


def judged(spark: SparkSession, records: Iterable[tuple[int, int, bytes]]) -> DataFrame:
    at = datetime(2014, 1, 1, tzinfo=UTC)
    rows = [("t", partition, offset, bytearray(value), at) for partition, offset, value in records]
    schema = "_topic_id string, _partition int, _offset long, _value binary, _timestamp timestamp"
    return validate(spark.createDataFrame(rows, schema), VALUE, RULES)


def test_a_retry_and_a_conflict_are_told_apart(spark: SparkSession) -> None:
    records = [
        (0, 0, order(1)),
        (0, 1, order(2)),
        (1, 0, order(2)),  # a retry, in another partition
        (1, 1, order(3)),
        (1, 2, order(3, note="?")),  # a conflict
        (1, 3, order(3, note="?")),  # and its retry
        (2, 0, order(2, shop="south")),  # another event
        (2, 1, order(1, note="late", **LATE)),  # a conflict with a late one
    ]
    assert found_in(spark, records) == Duplicates(
        event_id=("shop", "id"),
        events=3,
        repeated=(
            Repeated(Duplicate.RETRY, 2, RecordPosition(0, 1), RecordPosition(1, 0)),
            Repeated(Duplicate.CONFLICT, 2, RecordPosition(0, 0), RecordPosition(2, 1)),
        ),
    )


def test_what_is_quarantined_or_a_heartbeat_is_no_duplicate(spark: SparkSession) -> None:
    beat = json.dumps({"beat": True, **TIMES}).encode()
    broken = order("one")
    records = [(0, 0, beat), (0, 1, beat), (0, 2, broken), (0, 3, broken), (0, 4, order(1))]
    assert found_in(spark, records) == Duplicates(("shop", "id"), 0, ())
    undeclared = VALUE.model_copy(update={"event_id": None})
    assert find_duplicates(judged(spark, records), undeclared) is None


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_a_restart_makes_no_duplicate_and_a_transform_can_drop_retries_alike_in_stream_and_batch(
    place: DriverPlace, own_broker: BrokerProcess, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = place.with_own_project()
    write_endpoints(
        Settings(state=own.state).folder, Endpoints(kafka_bootstrap=(own_broker.bootstrap,), airflow_url="")
    )
    folder = own.home / "spark_jobs" / "transforms"
    text = (folder / "departures.py").read_text()
    assert "flights.groupBy(" in text
    (folder / "once.py").write_text(text.replace("flights.groupBy(", "flights.dropDuplicates().groupBy("))
    edit(
        own.home / "include/pipelines/departures.yaml", "transform: departures:departures", "transform: once:departures"
    )
    monkeypatch.setattr(transforms, "__path__", [*transforms.__path__, str(folder)])

    table = flights("2013-01-01", "2013-01-02")
    values = values_of(table)
    early, rest = values[:1000], values[1000:]
    on_time = [v for v in early[-60:] if _delay(v) < timedelta(hours=1)]
    conflicts = [{**value, "tailnum": "N0"} for value in on_time[:3]]
    with KafkaPythonAdministration((own_broker.bootstrap,), {}) as administration:
        administration.create([TopicCreation("flights", 4, 1, {"retention.ms": "-1"})])
    _send(own_broker, early)
    killed = own.run(failpoint="after_write_before_commit@departures")
    assert killed.returncode == -9, killed.stdout[-2000:]
    assert own.run(generation=2).returncode == ExitCode.STOPPED
    _send(own_broker, on_time)  # as a producer does that was never told that they arrived
    _send(own_broker, conflicts)
    end = (table["hour_utc"].max() + pd.Timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    _send(own_broker, rest)
    _send(own_broker, [{"heartbeat": True, "scheduled_at": end, "observed_at": end}])
    killed = own.run(generation=3, failpoint="before_write@departures")
    assert killed.returncode == -9, killed.stdout[-2000:]
    finished = own.run(generation=4)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-3000:]

    project = own.project()
    pipeline, topic = project.catalog.pipelines["departures"], project.catalog.topics["flights"]
    raw = project.folder.table("flights_raw")
    census = take_census(spark, raw, topic, pipeline)
    assert census.duplicates is not None
    assert census.duplicates.events == len(on_time)
    counted = {each.kind: each.records for each in census.duplicates.repeated}
    assert counted == {Duplicate.RETRY: len(on_time), Duplicate.CONFLICT: len(conflicts)}
    assert census.outcomes[Outcome.QUARANTINED] == 0

    records = {"flights": raw_records(spark.read.format("delta").load(str(raw)))}
    batch = result_rows(records, pipeline_code(project, spark, pipeline)).toPandas()
    batch["hour"] = batch["hour"].dt.tz_localize("UTC")
    streamed = own.table("departures")
    assert differences(streamed, batch) == []
    good = sum(_delay(value) <= timedelta(hours=3) for value in values)
    assert int(streamed[["departed", "cancelled"]].sum().sum()) == good + len(conflicts)


def _delay(value: Mapping[str, object]) -> timedelta:
    return pd.Timestamp(str(value["observed_at"])) - pd.Timestamp(str(value["scheduled_at"]))


def _send(broker: BrokerProcess, values: Iterable[Mapping[str, object]]) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for value in values:
        producer.send("flights", key=str(value.get("carrier", "")).encode(), value=json.dumps(value).encode())
    producer.close()
