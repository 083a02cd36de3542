"""Each example on what its simulator sends, with its driver killed in the middle, against an oracle in plain Python."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from sluice.cli.scaffold.examples import example_names, examples_folder
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace
from tests.scenarios.example_place import scenario, values_in, verified
from tests.shapes.oracle import differences

NAMES = example_names(examples_folder())
TODAYS = NAMES[date.today().toordinal() % len(NAMES)]  # noqa: DTZ011 - any day will do
"""Another one each day is a part of `make test`; `make verify` runs all."""


@pytest.mark.timeout(600)
def test_todays_example_settles_what_its_oracle_says(own_broker: BrokerProcess, tmp_path: Path) -> None:
    place = scenario(TODAYS, tmp_path, own_broker)
    drain(place, 1)
    pipelines = place.project().catalog.pipelines
    assert_equal(place, own_broker, [name for name, pipeline in pipelines.items() if not pipeline.tables])


@pytest.mark.verify
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NAMES)
def test_all_tables_equal_the_oracle_over_a_killed_driver_and_their_own_batch(
    name: str, own_broker: BrokerProcess, tmp_path: Path
) -> None:
    place = scenario(name, tmp_path, own_broker)
    tables = oracle_of(place).TABLES
    kill = f"after_write_before_commit@{tables[0]}"
    died = place.run(generation=1, failpoint=kill)
    assert place.fired(kill), f"{died.stdout[-4_000:]}{died.stderr[-4_000:]}"
    drain(place, 2)
    if any(pipeline.tables for pipeline in place.project().catalog.pipelines.values()):
        drain(place, 3)  # a driver reads the settled tables that there are when it starts
    assert_equal(place, own_broker, tables)
    assert verified(place, tables) == dict.fromkeys(tables, ParityOutcome.IDENTICAL)


def drain(place: DriverPlace, generation: int) -> None:
    done = place.run(generation=generation)
    assert done.returncode == ExitCode.STOPPED, f"{done.stdout[-4_000:]}{done.stderr[-4_000:]}"


def oracle_of(place: DriverPlace) -> ModuleType:
    return importlib.import_module(f"tests.scenarios.{place.unit}")


def assert_equal(place: DriverPlace, broker: BrokerProcess, tables: Sequence[str]) -> None:
    """Fail at the first table that differs from the oracle's, given what is in the topics."""
    project, oracle = place.project(), oracle_of(place)
    wanted = oracle.tables({topic: values_in(topic, broker) for topic in project.catalog.topics}, place.home)
    assert set(wanted) == set(oracle.TABLES)
    closed = all(topic.value.heartbeat for topic in project.catalog.topics.values())
    least = 0.9 if closed else 0.7  # lines of text have no heartbeat, and leave the last of five hours open
    for table in set(tables) & set(oracle.TABLES):
        rows, until = wanted[table], pd.Timestamp(project.tables.ledger(table).closed_until)
        settled = rows[rows[project.catalog.pipelines[table].intervals.time_column] < until]
        assert len(settled) > least * len(rows)
        assert differences(table, oracle.comparable(place.table(table)), settled) == []
