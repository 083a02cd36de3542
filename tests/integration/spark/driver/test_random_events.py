"""Whatever arrives, in whatever order and batches: the stream with its repair equals the batch, and both the oracle."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.request import Mode, Only
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.spark.driver.unit import run_streams
from sluice.specs.load import load_catalog
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation
from tests.integration.spark.backfill.backfills import Drained
from tests.integration.spark.driver.random_events import HOURS, PARTITIONS, START, History, expected, histories
from tests.oracle import differences, differing_hours

SEARCH = hypothesis_settings(
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],  # an example takes many seconds: shrinking would take hours
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@pytest.mark.verify
@pytest.mark.timeout(900)
@hypothesis_settings(SEARCH, max_examples=1)
@given(history=histories())
def test_the_stream_with_its_repair_equals_the_batch(
    history: History, broker: BrokerProcess, spark: SparkSession
) -> None:
    check(history, broker, spark)


@pytest.mark.verify
@pytest.mark.timeout(1800)
@hypothesis_settings(SEARCH, max_examples=8)  # each leaves some 40 MB in the JVM that the tests share
@given(history=histories())
def test_the_stream_with_its_repair_equals_the_batch_for_many(
    history: History, broker: BrokerProcess, spark: SparkSession
) -> None:
    check(history, broker, spark)


def check(history: History, broker: BrokerProcess, spark: SparkSession) -> None:
    with TemporaryDirectory() as folder:
        project = prepared(Path(folder), broker, history.cap)
        send(project, broker, history, 0, history.cut)
        assert run_streams(project, spark, "flights", 1, available_now=True) == ExitCode.STOPPED
        if history.forgets:
            shutil.rmtree(project.folder.checkpoint("departures"))
        send(project, broker, history, history.cut, len(history.events), heartbeat=True)
        assert run_streams(project, spark, "flights", 2, available_now=True) == ExitCode.STOPPED
        drained = Drained(project.settings.state, spark, project)
        on_time, everything = expected(history.events, with_late=False), expected(history.events, with_late=True)

        ledger = drained.ledger
        assert ledger.closed_until is not None
        dirty = {pd.Timestamp(start) for start, row in ledger.rows.items() if row.dirty}
        assert dirty == differing_hours(drained.rows(), on_time)

        closed = Interval(START, ledger.closed_until)
        if dirty:
            drained.run(Mode.RECOMPUTE, only=Only.DIRTY, over=closed)
            assert differences(drained.rows(), on_time) == []
        known = Interval(min(ledger.rows), ledger.closed_until)
        assert drained.run(Mode.VERIFY, over=known).outcome == ParityOutcome.IDENTICAL
        corrected = drained.run(Mode.CORRECT, over=known)
        assert corrected.passed, corrected.why
        # What only came late, before the first hour that the stream wrote, was never streamed: a recompute's business.
        assert differences(since(drained.rows(), known), since(everything, known)) == []


def since(rows: pd.DataFrame, known: Interval) -> pd.DataFrame:
    return rows[rows["hour"] >= pd.Timestamp(known.start)]


def prepared(folder: Path, broker: BrokerProcess, cap: int | None) -> Project:
    """Return a project with a topic and a state folder of its own."""
    name = f"events_{uuid4().hex[:12]}"
    with KafkaPythonAdministration((broker.bootstrap,), {}) as administration:
        administration.create([TopicCreation(name, PARTITIONS, 1, {"retention.ms": "-1"})])
    place = Settings(state=folder / "state")
    write_endpoints(place.folder, Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url=""))
    shipped = load_catalog(settings().home / "include")
    topic = shipped.topics["flights"].model_copy(update={"name": name})
    pipeline = shipped.pipelines["departures"].model_copy(
        update={"source": name, "max_records_per_batch": cap, "trigger": timedelta(0)}
    )
    return Project(place, replace(shipped, topics={name: topic}, pipelines={"departures": pipeline}))


def send(
    project: Project, broker: BrokerProcess, history: History, first: int, last: int, *, heartbeat: bool = False
) -> None:
    (topic,) = project.catalog.topics
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for number in range(first, last):
        event = history.events[number]
        producer.send(topic, value=event.value(number), partition=event.partition)
        if number in history.malformed:
            producer.send(topic, value=b"\xff no json", partition=event.partition)
    if heartbeat:
        producer.flush()
        at = f"{START + timedelta(hours=HOURS + 4):%FT%TZ}"
        value = {"heartbeat": True, "scheduled_at": at, "observed_at": at}
        producer.send(topic, value=json.dumps(value).encode(), partition=0)
    producer.close()
