"""Each example on what its simulator sends, with its driver killed in the middle, against an oracle in plain Python."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pandas as pd
import pytest
from kafka import KafkaConsumer, TopicPartition

from sluice import __version__
from sluice.cli.feed import open_project_feed
from sluice.cli.scaffold.examples import example_files, example_names, examples_folder
from sluice.cli.scaffold.project import project_files, write_project
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
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


def verified(place: DriverPlace, pipelines: Sequence[str]) -> Mapping[str, str]:
    """Compute every settled interval by batch, and return how the two compare, by pipeline."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.scenarios.verification", *pipelines],
        env={**place.environment(), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{done.stdout[-4_000:]}{done.stderr[-4_000:]}"
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCENARIOS)
def test_its_settled_tables_equal_the_oracle_over_a_killed_driver(
    name: str, own_broker: BrokerProcess, tmp_path: Path
) -> None:
    place = scenario(name, tmp_path, own_broker)
    oracle = importlib.import_module(f"tests.scenarios.{name}")
    first = next(iter(oracle.TABLES))
    kill = f"after_write_before_commit@{first}"
    died = place.run(generation=1, failpoint=kill)
    assert place.fired(kill), f"{died.stdout[-4_000:]}{died.stderr[-4_000:]}"
    done = place.run(generation=2)
    assert done.returncode == ExitCode.STOPPED, f"{done.stdout[-4_000:]}{done.stderr[-4_000:]}"

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
    assert verified(place, oracle.TABLES) == dict.fromkeys(oracle.TABLES, ParityOutcome.IDENTICAL)
