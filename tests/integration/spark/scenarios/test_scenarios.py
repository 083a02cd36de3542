"""Each example on what its simulator sends, with its driver killed in the middle, against an oracle in plain Python."""

from __future__ import annotations

import importlib
from datetime import date
from pathlib import Path

import pandas as pd
import pytest

from sluice.cli.scaffold.examples import example_names, examples_folder
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.streams.failures.exits import ExitCode
from tests.scenarios.example_place import scenario, values_in, verified
from tests.shapes.oracle import differences

NAMES = example_names(examples_folder())
TODAYS = NAMES[date.today().toordinal() % len(NAMES)]  # noqa: DTZ011 - any day will do
SCENARIOS = [name if name == TODAYS else pytest.param(name, marks=pytest.mark.verify) for name in NAMES]
"""One of them, another one each day, is a part of `make test`; `make verify` runs the others."""


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
    project = place.project()
    chained = any(pipeline.tables for pipeline in project.catalog.pipelines.values())
    for generation in (2, 3) if chained else (2,):  # it reads the settled tables that there are when it starts
        done = place.run(generation=generation)
        assert done.returncode == ExitCode.STOPPED, f"{done.stdout[-4_000:]}{done.stderr[-4_000:]}"

    sent = {topic: values_in(topic, own_broker) for topic in project.catalog.topics}
    wanted = oracle.tables(sent, place.home)
    assert set(wanted) == set(oracle.TABLES)
    closed = all(topic.value.heartbeat for topic in project.catalog.topics.values())
    least = 0.9 if closed else 0.7  # lines of text have no heartbeat, and leave the last of five hours open
    for table, rows in wanted.items():
        pipeline = project.catalog.pipelines[table]
        ledger = project.tables.ledger(table)
        at = rows[pipeline.intervals.time_column]
        settled = rows[at < pd.Timestamp(ledger.closed_until)]
        assert len(settled) > least * len(rows)
        assert differences(table, oracle.comparable(place.table(table)), settled) == []
    assert verified(place, oracle.TABLES) == dict.fromkeys(oracle.TABLES, ParityOutcome.IDENTICAL)
