"""Pipelines that send by Spark's own sink, against a real broker, in real time and in micro-batches of `latency`.

A reader gets every record once, whatever drivers die or wake up.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.stream_options import KAFKA_DIRECT_SINK
from sluice.launch.processes import wait_until
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from sluice.spark.driver.stream_run import Stream, StreamRun
from sluice.spark.sinks.preparation import DirectSink
from sluice.streams.failures.exits import ExitCode
from sluice.topics.deduplication import SOURCE
from tests.integration.spark.conftest import DriverPlace, RunningDriver, place_at, values_of
from tests.integration.spark.driver.deliveries import DELAYS_TRANSFORM, consumed, consumed_raw, write_delays_alone
from tests.oracle import flights

PIPELINE = """\
name: delays
source: flights
transform: delays:delays
time: {{allowed_lateness: 3 hours, future_skew: 60 minutes}}
driver: quick
lane: {lane}
resources: {{cores: 4}}
outputs:
  - {{kind: topic, topic: {topic}, keys: [carrier], where: delay > 0, create: {{partitions: 2}}}}
"""
REALTIME, LATENCY, BALANCED = "realtime\ntrigger: 5 seconds", "latency", "balanced\ntrigger: 1 second"
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
    "join": (
        """flights.join(flights.sparkSession.sql("values ('UA', 1), ('UA', 2) t (carrier, delay)"), "carrier")""",
        "several rows",
    ),
}
JOINED_TRANSFORM = DELAYS_TRANSFORM.replace(
    "    return flights.where",
    """\
    offices = [(key, "north") for key in ("EWR", "JFK", "LGA")] + [(None, "?"), (None, "?")]
    regions = flights.sparkSession.createDataFrame(offices, "origin string, region string")
    flights = flights.join(F.broadcast(regions), "origin", "left")
    return flights.where""",
).replace('"scheduled_at", F', '"region", "scheduled_at", F')


def in_lane(place: DriverPlace, lane: str, topic: str, transform: str = DELAYS_TRANSFORM) -> DriverPlace:
    """Return the place with one pipeline, in a lane, over an empty topic of flights."""
    own = place.with_own_project()
    write_delays_alone(own.home, PIPELINE.format(lane=lane, topic=topic), transform)
    with KafkaPythonAdministration(place.project().kafka.bootstrap(), {}) as administration:
        apply(Declared(own.project().catalog.kafka_topics()), administration)
    return replace(own, unit="quick")


class Day:
    """A day of flights that is sent in parts, and which of them have to come out.

    Args:
        bootstrap: of the broker.
        results: the topic in which they come out.
    """

    def __init__(self, bootstrap: str, results: str) -> None:
        self._bootstrap, self._results = bootstrap, results
        self.values = values_of(flights("2013-01-01", "2013-01-01"))
        self.wanted = [
            value["flight_id"]
            for value in self.values
            if 0 < int(str(value.get("dep_delay_min", 0))) <= LATE_AFTER_MINUTES
        ]
        self.third = len(self.values) // 3
        self._producer = KafkaProducer(bootstrap_servers=bootstrap)

    def send(self, first: int, last: int) -> Callable[[], bool]:
        """Send some, and return what tells whether all that was sent so far has come out."""
        for value in self.values[first:last]:
            self._producer.send("flights", key=str(value["carrier"]).encode(), value=json.dumps(value).encode())
        self._producer.flush()
        sent = {value["flight_id"] for value in self.values[:last]}
        return lambda: self.came() == sent & set(self.wanted)

    def came(self) -> set[object]:
        """Return which flights have come out."""
        return {row["flight_id"] for row in consumed(self._bootstrap, self._results).once}


@pytest.mark.verify
@pytest.mark.timeout(400)
@pytest.mark.parametrize("lane", [REALTIME, LATENCY])
def test_every_record_once_over_a_kill_and_a_driver_that_wakes_up(
    lane: str, own_broker: BrokerProcess, tmp_path: Path, topic_name: str
) -> None:
    place = in_lane(place_at(tmp_path / "state", own_broker), lane, topic_name)
    day = Day(own_broker.bootstrap, topic_name)
    send, third, values = day.send, day.third, day.values
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
            third_driver.eventually(
                lambda: batches(place) > asleep_at if lane is REALTIME else batches(place) == batches(place, "offsets"),
                "has committed a batch of its own",
            )
            second.wake()
            assert ended(second) == ExitCode.FENCED
            assert third_driver.stop() == ExitCode.STOPPED, third_driver.log.read_text()[-6000:]
    found = consumed(own_broker.bootstrap, topic_name)
    assert sorted(row["flight_id"] for row in found.once) == sorted(day.wanted)
    assert all(headers_of(record) >= {SOURCE} for record in consumed_raw(own_broker.bootstrap, topic_name))
    if lane is REALTIME:
        assert len(found.records) > len(found.once), "the kill repeats records: who takes all counts them twice"


@pytest.mark.verify
@pytest.mark.timeout(400)
def test_a_batch_that_is_cut_off_is_sent_again_and_read_once(
    own_broker: BrokerProcess, tmp_path: Path, topic_name: str
) -> None:
    """A commit of the checkpoint that is lost is a batch that was sent and is not on record."""
    place = in_lane(place_at(tmp_path / "state", own_broker), LATENCY, topic_name, JOINED_TRANSFORM)
    day = Day(own_broker.bootstrap, topic_name)
    with place.driver(1) as first:
        first.eventually(day.send(0, day.third), "has sent what is late of a third")
        first.process.kill()
        first.process.wait()
    commits = place.state / "checkpoints" / "delays" / "commits"
    newest = max((file for file in commits.iterdir() if file.name.isdigit()), key=lambda file: int(file.name))
    newest.unlink()
    with place.driver(2) as second:
        second.eventually(day.send(day.third, len(day.values)), "has sent what is late of all")
        second.stop()
    found = consumed(own_broker.bootstrap, topic_name)
    assert sorted(row["flight_id"] for row in found.once) == sorted(day.wanted)
    assert len(found.records) > len(found.once), "the batch was sent twice"
    assert {row["region"] for row in found.once} == {"north"}


@pytest.mark.verify
@pytest.mark.timeout(500)
def test_every_record_once_when_the_lane_changes_and_changes_back(
    own_broker: BrokerProcess, tmp_path: Path, topic_name: str
) -> None:
    place = in_lane(place_at(tmp_path / "state", own_broker), BALANCED, topic_name)
    day = Day(own_broker.bootstrap, topic_name)
    quarter = len(day.values) // 4
    for number, lane in enumerate((BALANCED, LATENCY, BALANCED, LATENCY)):
        spec = place.home / "include" / "pipelines" / "delays.yaml"
        spec.write_text(PIPELINE.format(lane=lane, topic=topic_name))
        last = len(day.values) if number == 3 else (number + 1) * quarter
        with place.driver(number + 1) as driver:
            driver.eventually(day.send(number * quarter, last), f"has sent what is late of part {number}")
            assert driver.stop() == ExitCode.STOPPED, driver.log.read_text()[-6000:]
        planned, committed = numbers(place, "offsets"), numbers(place, "commits")
        assert planned == list(range(len(planned))), "another lane goes on with the batches that both logs name"
        assert committed in (planned, planned[:-1])
    found = consumed(own_broker.bootstrap, topic_name)
    assert sorted(row["flight_id"] for row in found.once) == sorted(day.wanted)
    sent = [SOURCE in headers_of(record) for record in consumed_raw(own_broker.bootstrap, topic_name)]
    assert set(sent) == {True, False}


def headers_of(record: Any) -> set[str]:  # noqa: ANN401 - a record of kafka-python
    return {name for name, _ in record.headers}


def batches(place: DriverPlace, log: str = "commits") -> int:
    """Return how many batches are committed, or planned."""
    return len(numbers(place, log))


def numbers(place: DriverPlace, log: str) -> list[int]:
    """Return the numbers of the batches that are in a log of the checkpoint, ascending."""
    files = (place.state / "checkpoints" / "delays" / log).iterdir()
    return sorted(int(file.name) for file in files if file.name.isdigit())


@pytest.mark.verify
@pytest.mark.timeout(200)
def test_small_batches_are_planned_without_code_and_other_streams_are_not(
    spark: SparkSession, own_broker: BrokerProcess, tmp_path: Path, topic_name: str
) -> None:
    rows = (
        spark.readStream.format("rate")
        .load()
        .selectExpr("cast(cast(value as string) as binary) value")
        .where("value is not null")
    )
    to = {**KAFKA_DIRECT_SINK, "kafka.bootstrap.servers": own_broker.bootstrap, "topic": topic_name}
    stream = Stream("small", rows, DirectSink(to, lambda: None, in_real_time=False), tmp_path / "checkpoint", 0.0)
    run = StreamRun(stream, None, available_now=False, clock=SystemClock())
    run.start()
    try:
        (query,) = spark.streams.active
        assert wait_until(lambda: query.lastProgress is not None, SystemClock(), deadline_seconds=90)
        assert "*(" not in query._jsq.explainInternal(False), "a part of the plan is compiled"
        assert spark.conf.get("spark.sql.codegen.wholeStage") == "true"
    finally:
        run.interrupt()


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
    place = in_lane(place_at(tmp_path / "state", own_broker), REALTIME, topic_name, transform)
    refused = place.run(generation=1)
    assert refused.returncode == ExitCode.WRONG_SPEC, refused.stdout[-2000:] + refused.stderr[-2000:]
    assert words in refused.stdout + refused.stderr


@pytest.mark.verify
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "direct"), [("explode", False), ("join", False), ("python", True)])
def test_what_makes_several_rows_of_a_record_is_sent_batch_by_batch(
    name: str, direct: bool, own_broker: BrokerProcess, tmp_path: Path, topic_name: str
) -> None:
    transform = DELAYS_TRANSFORM.partition('    """Return one')[0] + f"    return {REFUSED[name][0]}\n"
    place = in_lane(place_at(tmp_path / "state", own_broker), LATENCY, topic_name, transform)
    day = Day(own_broker.bootstrap, topic_name)
    day.send(0, 50)
    carriers = [str(value["carrier"]) for value in day.values[:50]]
    rows = 1 if direct else 2
    expected = [c for c in carriers if name != "join" or c == "UA"] * rows
    with place.driver(1) as driver:
        driver.eventually(
            lambda: len(consumed(own_broker.bootstrap, topic_name).once) >= len(expected), "has sent all rows"
        )
        driver.stop()
    found = consumed(own_broker.bootstrap, topic_name)
    assert sorted(row["carrier"] for row in found.once) == sorted(expected)
    sent = {SOURCE in headers_of(record) for record in consumed_raw(own_broker.bootstrap, topic_name)}
    assert sent == {direct}
