"""A unit whose intervals hand on a state that its live outputs keep, too, and a sink of its own in a real database."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace, place_at, publish_two_days
from tests.oracle import flights
from tests.shapes import carried
from tests.shapes.carried_specs import carried_document, turns_of
from tests.shapes.oracle import differences
from tests.shapes.own_sink import delivered, write_sink

pytestmark = pytest.mark.verify

FIRST, LAST = "2013-01-01", "2013-01-02"


@pytest.fixture
def place(own_broker: BrokerProcess, tmp_path: Path) -> DriverPlace:
    publish_two_days(own_broker.bootstrap)
    place = place_at(tmp_path / "state", own_broker).with_own_project()
    include = place.home / "include"
    for file in ("pipelines/departures.yaml", "expectations/departures.yaml"):
        (include / file).unlink()
    document = carried_document("turns")
    output = {**dict(document.pop("output")), "kind": "intervals"}  # type: ignore[call-overload]
    outputs = [
        output,
        {"kind": "latest", "table": "turns_latest", "keys": ["flight_id"]},
        {"kind": "sink", "name": "turns_db", "function": "turns:write"},
    ]
    spec = {**document, "driver": "flights", "outputs": outputs}
    (include / "pipelines" / "turns.yaml").write_text(json.dumps(spec), encoding="utf-8")
    jobs = place.home / "spark_jobs"
    (jobs / "transforms" / "carried.py").write_bytes(Path(carried.__file__).read_bytes())
    write_sink(place.home, "turns", tmp_path / "turns.db", {"flight_id": "INTEGER", "number": "INTEGER"})
    return place


@pytest.mark.timeout(600)
def test_interval_table_newest_values_and_a_database_agree_over_kills(place: DriverPlace) -> None:
    generation = 0
    for kill in ("before_write@turns_db", "after_write_before_commit@turns_db", "before_write@turns"):
        generation += 1
        died = place.run(generation=generation, failpoint=kill)
        assert place.fired(kill), died.stderr[-40_000:]
    done = place.run(generation=generation + 1)
    assert done.returncode == ExitCode.STOPPED, done.stderr[-4000:]

    ledger = place.project().tables.ledger("turns")
    on_time = flights(FIRST, LAST)
    wanted = turns_of(on_time[~(on_time["dep_delay"] > 180)])
    settled = wanted[wanted["at"] < pd.Timestamp(ledger.closed_until)]
    assert len(settled) > 1_000
    assert differences("turns", place.table("turns"), settled) == []
    found = delivered(place.state.parent / "turns.db")
    assert len(found) > 1_000
    assert found["flight_id"].is_unique, "no batch was written twice"
    newest = place.table("turns_latest")
    assert sorted(newest["flight_id"]) == sorted(found["flight_id"]) == sorted(wanted["flight_id"])
    by_flight = wanted.set_index("flight_id")["number"]
    assert (newest.set_index("flight_id")["number"] == by_flight[newest["flight_id"]]).all(), "one batch, in order"
