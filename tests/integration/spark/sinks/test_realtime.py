"""A pipeline in real time, against a real broker: every record once for a reader, whatever drivers die or wake up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from kafka import KafkaProducer

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace, RunningDriver, place_at, values_of
from tests.integration.spark.driver.deliveries import DELAYS_TRANSFORM, consumed, write_delays_alone
from tests.oracle import flights

PIPELINE = """\
name: delays
source: flights
transform: delays:delays
time: {{allowed_lateness: 3 hours, future_skew: 60 minutes}}
driver: quick
lane: realtime
trigger: 5 seconds
resources: {{cores: 4}}
outputs:
  - {{kind: topic, topic: {topic}, keys: [carrier], where: delay > 0, create: {{partitions: 2}}}}
"""
LATE_AFTER_MINUTES = 180
REFUSED = {
    "groupBy": ('flights.groupBy("carrier").count().withColumn("delay", F.lit(1))', "an operator 'Aggregate'"),
    "explode": (
        'flights.select("carrier", F.explode(F.array(F.lit(1), F.lit(2))).alias("delay"))',
        "an operator 'Generate'",
    ),
    "python": (
        'flights.select("carrier", F.udf(lambda text: len(text), "int")("carrier").alias("delay"))',
        "a function of Python",
    ),
}


def in_real_time(place: DriverPlace, topic: str, transform: str = DELAYS_TRANSFORM) -> DriverPlace:
    """Return the place with one pipeline, in real time, over an empty topic of flights."""
    own = place.with_own_project()
    write_delays_alone(own.home, PIPELINE.format(topic=topic), transform)
    with KafkaPythonAdministration(place.project().kafka.bootstrap(), {}) as administration:
        apply(Declared(own.project().catalog.kafka_topics()), administration)
    return replace(own, unit="quick")


@pytest.mark.verify
@pytest.mark.timeout(400)
def test_every_record_once_over_a_kill_and_a_driver_that_wakes_up(
    own_broker: BrokerProcess, tmp_path: Path, topic_name: str
) -> None:
    place = in_real_time(place_at(tmp_path / "state", own_broker), topic_name)
    values = values_of(flights("2013-01-01", "2013-01-01"))
    wanted = [
        value["flight_id"] for value in values if 0 < int(str(value.get("dep_delay_min", 0))) <= LATE_AFTER_MINUTES
    ]
    third = len(values) // 3
    producer = KafkaProducer(bootstrap_servers=own_broker.bootstrap)

    def send(first: int, last: int) -> Callable[[], bool]:
        for value in values[first:last]:
            producer.send("flights", key=str(value["carrier"]).encode(), value=json.dumps(value).encode())
        producer.flush()
        sent = {value["flight_id"] for value in values[:last]}
        return lambda: (
            {row["flight_id"] for row in consumed(own_broker.bootstrap, topic_name).once} == sent & set(wanted)
        )

    with place.driver(1) as first:
        first.eventually(send(0, third), "has sent what is late of a third")
        first.process.kill()
        first.process.wait()
    with place.driver(2) as second:
        second.eventually(send(third, 2 * third), "has sent what is late of two thirds")
        second.sleep()
        with place.driver(3) as third_driver:
            third_driver.eventually(send(2 * third, len(values)), "has sent what is late of all")
            asleep_at = batches(place)  # who wakes up first in one batch would commit it, and the other start again
            third_driver.eventually(lambda: batches(place) > asleep_at, "has committed a batch of its own")
            second.wake()
            assert ended(second) == ExitCode.FENCED
            assert third_driver.stop() == ExitCode.STOPPED, third_driver.log.read_text()[-6000:]
    found = consumed(own_broker.bootstrap, topic_name)
    assert sorted(row["flight_id"] for row in found.once) == sorted(wanted)
    assert len(found.records) > len(found.once), "the kill repeats records: who takes all counts them twice"


def batches(place: DriverPlace) -> int:
    return len([file for file in (place.state / "checkpoints" / "delays" / "commits").iterdir() if file.name.isdigit()])


def ended(driver: RunningDriver) -> int:
    driver.eventually(lambda: driver.process.poll() is not None, "has ended")
    return driver.process.wait()


@pytest.mark.verify
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", REFUSED)
def test_a_transform_that_cannot_run_in_real_time_is_refused_before_a_start(
    name: str, own_broker: BrokerProcess, tmp_path: Path, topic_name: str
) -> None:
    expression, words = REFUSED[name]
    transform = DELAYS_TRANSFORM.partition('    """Return one')[0] + f"    return {expression}\n"
    place = in_real_time(place_at(tmp_path / "state", own_broker), topic_name, transform)
    refused = place.run(generation=1)
    assert refused.returncode == ExitCode.WRONG_SPEC, refused.stdout[-2000:] + refused.stderr[-2000:]
    assert words in refused.stdout + refused.stderr
