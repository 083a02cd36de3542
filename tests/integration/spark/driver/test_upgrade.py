"""A transform that is edited between two attempts: which code settled which interval."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.ledger import State
from sluice.streams.failures.exits import ExitCode
from tests.editing import edit
from tests.integration.spark.conftest import TRANSFORM, Feed, place_at


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_what_was_settled_before_an_upgrade_is_stale_and_nothing_is_the_work_of_both(
    own_broker: BrokerProcess, tmp_path: Path, spark: SparkSession
) -> None:
    feed, own = Feed(own_broker.bootstrap), place_at(tmp_path / "state", own_broker).with_own_project()
    old = own.project().code_of("departures")
    feed.send(0.6)
    assert own.finish(spark, generation=1) == ExitCode.STOPPED
    settled = own.project().tables.ledger("departures").closed_until
    assert settled is not None

    edit(own.home / TRANSFORM, "DELAYED_FROM_MINUTES = 15", "DELAYED_FROM_MINUTES = 20")
    new = own.project().code_of("departures")
    feed.send_rest()
    upgraded = own.run(generation=2)
    assert upgraded.returncode == ExitCode.STOPPED, upgraded.stdout[-2000:]

    rows = own.project().tables.ledger("departures").rows
    codes = {start: row.base.code for start, row in rows.items() if row.base is not None}
    assert codes == {start: old if start < settled else new for start in codes}
    assert min(codes) < settled < max(codes)
    assert {row.state(new) for start, row in rows.items() if start < settled} == {State.STALE}
    assert {row.state(new) for start, row in rows.items() if start >= settled} == {State.CLOSED}
