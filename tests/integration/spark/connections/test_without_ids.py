"""Streams over a cluster that gives topics no ids: complete, and stopped when it begins to give them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.settings import settings
from sluice.streams.failures.exits import ExitCode
from sluice.topics.identity import identity
from tests.integration.brokers import add_listeners, free_ports, running
from tests.integration.kafka.older_protocol import WITHOUT_IDS, older_protocol
from tests.integration.spark.conftest import place_at, publish_two_days
from tests.oracle import departures, differences


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_streams_over_topics_without_ids_are_complete_and_stop_when_the_cluster_begins_to_give_them(
    tmp_path: Path, spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    port, controller, behind, listening = free_ports(4)
    broker = BrokerProcess(tmp_path / "broker", port, controller, settings().jars)
    broker.prepare()
    add_listeners(broker, {"OLDER": (behind, f"127.0.0.1:{listening}")})
    state = tmp_path / "state"
    with running(broker), older_protocol(listening, behind, WITHOUT_IDS):
        sent = publish_two_days(broker.bootstrap)
        older = place_at(state, replace(broker, port=listening))
        assert older.finish(spark, generation=1) is ExitCode.STOPPED
        raw = older.table("flights_raw")
        assert set(raw["topic_id"]) == {identity("flights", None)}
        assert len(raw.drop_duplicates(["partition", "offset"])) == len(raw) == sent
        assert differences(older.table("departures"), departures("2013-01-01", "2013-01-02")) == []
        assert older.finish(spark, generation=2) is ExitCode.STOPPED, "its ids are the same in every attempt"

        newer = place_at(state, broker)
        assert newer.finish(spark, generation=3) is ExitCode.DATA_LOSS
    assert "the cluster gave no ids then" in "".join(capfd.readouterr())
    assert len(newer.table("flights_raw")) == sent
