"""From a record in one topic to the record made of it in another, at 1,000 records a second, in two lanes.

Both topics have the broker's own timestamps, so a latency is the difference of two entries of one clock, in whole
milliseconds. The same pipeline runs in the lane `realtime` and in `latency`: strict decoding, a filter, five columns.
Every record must come out once for a reader that drops repetitions, or nothing is measured. The first seconds, in which
the JVM compiles, do not count.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from kafka import KafkaProducer

from benchmarks.backfill.recompute import surroundings
from benchmarks.project_copy import copied_project
from sluice.clock import SystemClock
from sluice.feeds.nycflights13 import Nycflights13
from sluice.feeds.record import encode
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.processes import wait_until
from sluice.settings import StateFolder
from sluice.specs.model.lanes import Lane
from sluice.topics.administration import TopicCreation
from tests.integration.brokers import own_broker_in
from tests.integration.serving import background
from tests.integration.spark.driver.deliveries import consumed, consumed_raw, write_delays_alone

PIPELINE = """\
name: delays
source: flights
transform: delays:delays
time: {{allowed_lateness: 3 hours, future_skew: 60 minutes}}
driver: quick
lane: {lane}
resources: {{cores: {cores}}}
outputs:
  - {{kind: topic, topic: delays_topic, keys: [flight_id], create: {{partitions: {partitions}}}}}
"""
_PARTITIONS = 2
_SIZES = {"full": {Lane.REALTIME: 200, Lane.LATENCY: 60}, "small": {Lane.REALTIME: 20, Lane.LATENCY: 20}}
_PER_SECOND = 1_000
_WARM_SECONDS = 15
_START_SECONDS, _DRAIN_SECONDS = 240.0, 60.0


@dataclass(frozen=True)
class Latencies:
    """What was seen of one lane.

    Attributes:
        milliseconds: of each record after the first seconds, ascending.
        batches: how many were committed.
    """

    milliseconds: list[int]
    batches: int

    def share(self, part: float) -> int:
        """Return what a part of the records did not exceed."""
        return self.milliseconds[min(len(self.milliseconds) - 1, int(part * len(self.milliseconds)))]


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `realtime_p50_ms`, `realtime_p99_ms`, `micro_p50_ms` and `batches`, the fewest of both lanes."""
    seen = {lane: _measured(lane, seconds) for lane, seconds in _SIZES[size].items()}
    realtime, micro = seen[Lane.REALTIME], seen[Lane.LATENCY]
    figures = {
        "realtime_p50_ms": realtime.share(0.5),
        "realtime_p99_ms": realtime.share(0.99),
        "micro_p50_ms": micro.share(0.5),
        "batches": min(each.batches for each in seen.values()),
    }
    lanes = {
        lane.value: {
            "records": len(each.milliseconds),
            "mean_ms": round(sum(each.milliseconds) / len(each.milliseconds), 1),
            "median_ms": median(each.milliseconds),
            "p99_ms": each.share(0.99),
            "max_ms": each.milliseconds[-1],
            "batches": each.batches,
        }
        for lane, each in seen.items()
    }
    return figures, {"size": size, "records_per_s": _PER_SECOND, "lanes": lanes}


def _measured(lane: Lane, seconds: int) -> Latencies:
    with tempfile.TemporaryDirectory(prefix="sluice-latency-") as folder, ExitStack() as stack:
        root = Path(folder)
        home, state = _project(root, lane), root / "state"
        broker = stack.enter_context(own_broker_in(root / "kafka"))
        write_endpoints(StateFolder(state), Endpoints((broker.bootstrap,), airflow_url=""))
        stamped = {"message.timestamp.type": "LogAppendTime", "retention.ms": "-1"}
        with KafkaPythonAdministration((broker.bootstrap,), {}) as administration:
            topics = [TopicCreation(name, _PARTITIONS, 1, stamped) for name in ("flights", "delays_topic")]
            administration.create(topics)
        driver = [sys.executable, str(home / "spark_jobs" / "stream.py"), "--unit", "quick", "--generation", "1"]
        stack.enter_context(background("driver", driver, state, surroundings(state, home)))
        sent = _send(broker.bootstrap, seconds)
        commits = state / "checkpoints" / "delays" / "commits"
        return Latencies(_latencies(broker.bootstrap, sent), sum(file.name.isdigit() for file in commits.iterdir()))


def _project(root: Path, lane: Lane) -> Path:
    home = copied_project(root / "home", "include", "spark_jobs")
    topic = home / "include" / "topics" / "flights.yaml"
    topic.write_text(topic.read_text().replace("partitions: 4", f"partitions: {_PARTITIONS}"))
    write_delays_alone(home, PIPELINE.format(lane=lane, cores=2 * _PARTITIONS, partitions=_PARTITIONS))
    return home


def _send(bootstrap: str, seconds: int) -> int:
    """Send a record and wait until it has come out; then send the others at their pace; return how many in all."""
    days = date(2013, 1, 1), date(2013, 12, 31)
    # What is late is not delivered, and what is cancelled is no row.
    on_time = (r for r in Nycflights13.load().records(*days) if -60 < (r.value.get("dep_delay_min") or -99) < 120)  # noqa: PLR2004
    todo = list(islice(on_time, 1 + seconds * _PER_SECOND))
    producer: Any = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=0)
    producer.send("flights", key=todo[0].key, value=encode(todo[0].value)).get(30)
    came = wait_until(
        lambda: len(consumed_raw(bootstrap, "delays_topic")) == 1, SystemClock(), deadline_seconds=_START_SECONDS
    )
    assert came, "the first record did not come out"
    begun = time.monotonic()
    for number, record in enumerate(todo[1:]):
        time.sleep(max(0.0, begun + number / _PER_SECOND - time.monotonic()))
        producer.send("flights", key=record.key, value=encode(record.value))
    producer.flush()
    wait_until(
        lambda: len(consumed_raw(bootstrap, "delays_topic")) >= len(todo),
        SystemClock(),
        deadline_seconds=_DRAIN_SECONDS,
    )
    producer.close()
    return len(todo)


def _latencies(bootstrap: str, sent: int) -> list[int]:
    """Return how long each record took, ascending; they must have come out once each."""
    put = {_flight(record): record.timestamp for record in consumed_raw(bootstrap, "flights")}
    came = {_flight(record): record.timestamp for record in consumed_raw(bootstrap, "delays_topic")}
    once = [row["flight_id"] for row in consumed(bootstrap, "delays_topic").once]
    assert len(once) == len(set(once)) == len(put) == sent, f"{sent} were sent, {len(once)} came out"
    counts_from = sorted(put.values())[1] + _WARM_SECONDS * 1000
    return sorted(came[flight] - at for flight, at in put.items() if at >= counts_from)


def _flight(record: Any) -> int:  # noqa: ANN401 - a record of kafka-python
    return int(json.loads(record.value)["flight_id"])
