"""Each example on what its simulator sends, with its driver killed in the middle, against an oracle in plain Python."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pandas as pd
import pytest
from kafka import KafkaConsumer, TopicPartition
from pyspark.sql import SparkSession

from sluice import __version__
from sluice.cli.feed import open_project_feed
from sluice.cli.scaffold.examples import example_files, example_names, examples_folder
from sluice.cli.scaffold.project import project_files, write_project
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.request import Mode, Only, Request
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.project.project import Project
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from sluice.spark.backfill.run import run_backfill
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace, place_at
from tests.shapes.oracle import differences

NAMES = example_names(examples_folder())
TODAYS = NAMES[date.today().toordinal() % len(NAMES)]  # noqa: DTZ011 - any day will do
SCENARIOS = [name if name == TODAYS else pytest.param(name, marks=pytest.mark.verify) for name in NAMES]
"""One of them, another one each day, is a part of `make test`; `make verify` runs the others."""


def scenario(name: str, folder: Path, broker: BrokerProcess) -> DriverPlace:
    """Return a project that is the example, with its topics in the broker and its feeds in its topics."""
    home = folder / "project"
    write_project(home, {**project_files(name, __version__), **example_files(name, examples_folder())})
    place = replace(place_at(folder / "state", broker), home=home, unit=name)
    project = place.project()
    with KafkaPythonAdministration((broker.bootstrap,), {}) as administration:
        apply(Declared(project.catalog.kafka_topics()), administration)
    for feed in project.catalog.feeds:
        with open_project_feed(project, feed) as opened:
            assert opened.send().sent > 0
    return place


def values_in(topic: str, broker: BrokerProcess) -> Sequence[bytes]:
    """Return the values of all records of a topic."""
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, consumer_timeout_ms=5_000)
    partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    wanted = sum(consumer.end_offsets(partitions).values())
    values = [record.value for record, _ in zip(consumer, range(wanted), strict=False)]
    consumer.close()
    assert len(values) == wanted
    return values


def verified(project: Project, spark: SparkSession, pipeline: str) -> str:
    """Compute every settled interval by batch, and return how the two compare."""
    spans = project.tables.ledger(pipeline).spans
    over = Interval(spans[0].interval.start, spans[-1].interval.end)
    request = Request(pipeline, over, Mode.VERIFY, "tests", "a test", Only.ALL)
    code = pipeline_code(project, spark, project.catalog.pipelines[pipeline])
    return run_backfill(project, spark, code, request, key=f"{pipeline}-verify").outcome


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCENARIOS)
def test_its_settled_tables_equal_the_oracle_over_a_killed_driver(
    name: str, own_broker: BrokerProcess, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = scenario(name, tmp_path, own_broker)
    monkeypatch.syspath_prepend(place.home / "spark_jobs")
    oracle = importlib.import_module(f"tests.scenarios.{name}")
    first = next(iter(oracle.TABLES))
    kill = f"after_write_before_commit@{first}"
    died = place.run(generation=1, failpoint=kill)
    assert place.fired(kill), f"{died.stdout[-4_000:]}{died.stderr[-4_000:]}"
    assert place.finish(spark, generation=2) is ExitCode.STOPPED

    project = place.project()
    sent = {topic: values_in(topic, own_broker) for topic in project.catalog.topics}
    wanted = oracle.tables(sent, place.home)
    assert set(wanted) == set(oracle.TABLES)
    for table, rows in wanted.items():
        pipeline = project.catalog.pipelines[table]
        ledger = project.tables.ledger(table)
        at = rows[pipeline.intervals.time_column]
        settled = rows[at < pd.Timestamp(ledger.closed_until)]
        assert len(settled) > 0.9 * len(rows), "the heartbeat at the end of the feed closes nearly all"
        assert differences(table, oracle.comparable(place.table(table)), settled) == []
        assert verified(project, spark, table) == ParityOutcome.IDENTICAL
