"""An example as a project over a private broker: what its test and its benchmark share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kafka import KafkaConsumer, TopicPartition

from sluice import __version__
from sluice.cli.feed import open_project_feed
from sluice.cli.scaffold.examples import example_files, examples_folder
from sluice.cli.scaffold.project import project_files, write_project
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from tests.integration.spark.conftest import DriverPlace, place_at


def scenario(name: str, folder: Path, broker: BrokerProcess) -> DriverPlace:
    """Return a project that is the example, with its topics in the broker and its feeds in its topics."""
    place = prepared(name, folder, broker)
    project = place.project()
    for feed in project.catalog.feeds:
        with open_project_feed(project, feed) as opened:
            assert opened.send().sent > 0
    return place


def prepared(name: str, folder: Path, broker: BrokerProcess) -> DriverPlace:
    """Return a project that is the example, with its topics, which are empty, in the broker."""
    home = folder / "project"
    write_project(home, {**project_files(name, __version__), **example_files(name, examples_folder())})
    place = replace(place_at(folder / "state", broker), home=home, unit=name)
    project = place.project()
    with KafkaPythonAdministration((broker.bootstrap,), {}) as administration:
        apply(Declared(project.catalog.kafka_topics()), administration)
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
