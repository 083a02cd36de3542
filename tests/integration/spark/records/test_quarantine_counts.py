"""What a stream's batches say that they quarantined is what validation refuses, once for each record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kafka import KafkaProducer

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import Settings
from sluice.streams.failures.exits import ExitCode
from sluice.streams.health.batch_log import batches, quarantined
from tests.integration.spark.conftest import DriverPlace, Feed

DRIFTED = [{"flight_id": str(number), "carrier": "AA"} for number in range(300)]


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_the_stream_that_reads_the_topic_counts_what_it_quarantines(own_broker: BrokerProcess, tmp_path: Path) -> None:
    Feed(own_broker.bootstrap).send(0.5)
    producer = KafkaProducer(bootstrap_servers=own_broker.bootstrap)
    for number, value in enumerate([json.dumps(each).encode() for each in DRIFTED] + [b"{"] * 7):
        producer.send("flights", value=value, partition=number % 4)
    producer.close()
    place = DriverPlace(tmp_path / "state")
    endpoints = Endpoints(kafka_bootstrap=(own_broker.bootstrap,), airflow_url="")
    write_endpoints(Settings(state=place.state).folder, endpoints)
    done = place.run(generation=1)
    assert done.returncode == ExitCode.STOPPED, done.stdout[-2000:]
    folder = place.project().folder
    assert quarantined(batches(folder.batch_log("departures_live"))) == {"wrong_type": 300, "malformed": 7}
    for stream in ("departures", "raw_flights"):  # the one reads no record, the other judges none
        assert quarantined(batches(folder.batch_log(stream))) is None, stream
