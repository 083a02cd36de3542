"""One trial of `latency`: a program makes records of one topic into another while they come at 1,000 a second.

Each program has a broker of its own with the same two topics. Both have the broker's own timestamps, so a latency is
the difference of two entries of one clock, in whole milliseconds. Every record must come out once for a reader that
drops repetitions, or nothing is measured. The first seconds, in which a JVM compiles, do not count.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
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
from tests.editing import edit
from tests.integration.brokers import own_broker_in
from tests.integration.serving import background
from tests.integration.spark.driver.deliveries import consumed, consumed_raw, record_count, write_delays_alone

SOURCE, RESULTS = "flights", "delays_topic"
PER_SECOND = 1_000
_PIPELINE = """\
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
_WARM_SECONDS = 15
_START_SECONDS, _DRAIN_SECONDS = 240.0, 60.0
_LAST_WORDS = 2_000

Program = Callable[[Path, str], AbstractContextManager[object]]
"""Runs a program while the block runs, given an empty folder and the broker's address. It logs into a file of that
folder, and reads `SOURCE` from its beginning."""


@dataclass(frozen=True)
class Latencies:
    """How long records took through one program.

    Attributes:
        milliseconds: of each record after the first seconds, ascending; at least one.
    """

    milliseconds: list[int]

    def share(self, part: float) -> int:
        """Return what a part of the records did not exceed; `part` is from 0 to 1."""
        return self.milliseconds[min(len(self.milliseconds) - 1, int(part * len(self.milliseconds)))]

    def notes(self) -> dict[str, Any]:
        """Return how many there are, and their mean, median, 99th percentile and greatest, in milliseconds."""
        return {
            "records": len(self.milliseconds),
            "mean_ms": round(sum(self.milliseconds) / len(self.milliseconds), 1),
            "median_ms": median(self.milliseconds),
            "p99_ms": self.share(0.99),
            "max_ms": self.milliseconds[-1],
        }


def lane_latencies(lane: Lane, seconds: int) -> tuple[Latencies, int]:
    """Return the latencies of our driver in a lane, and how many batches it has committed."""

    def driver(folder: Path, bootstrap: str) -> AbstractContextManager[object]:
        home, state = _project(folder, lane), folder / "state"
        write_endpoints(StateFolder(state), Endpoints((bootstrap,), airflow_url=""))
        command = [sys.executable, str(home / "spark_jobs" / "stream.py"), "--unit", "quick", "--generation", "1"]
        return background("driver", command, state, surroundings(state, home))

    with trial(driver, seconds) as (folder, latencies):
        commits = folder / "state" / "checkpoints" / "delays" / "commits"
        return latencies, sum(file.name.isdigit() for file in commits.iterdir())


@contextmanager
def trial(program: Program, seconds: int) -> Iterator[tuple[Path, Latencies]]:
    """Send records through a program for so long; give its folder, and what was measured, while it still runs."""
    with tempfile.TemporaryDirectory(prefix="sluice-latency-") as name, ExitStack() as stack:
        root = Path(name)
        folder = root / "program"
        folder.mkdir()
        broker = stack.enter_context(own_broker_in(root / "kafka"))
        stamped = {"message.timestamp.type": "LogAppendTime", "retention.ms": "-1"}
        with KafkaPythonAdministration((broker.bootstrap,), {}) as administration:
            administration.create([TopicCreation(name, _PARTITIONS, 1, stamped) for name in (SOURCE, RESULTS)])
        stack.enter_context(program(folder, broker.bootstrap))
        sent = _send(broker.bootstrap, seconds, folder)
        yield folder, Latencies(_latencies(broker.bootstrap, sent))


def _project(root: Path, lane: Lane) -> Path:
    home = copied_project(root / "home", "include", "spark_jobs")
    edit(home / "include/topics/flights.yaml", "partitions: 4", f"partitions: {_PARTITIONS}")
    write_delays_alone(home, _PIPELINE.format(lane=lane, cores=2 * _PARTITIONS, partitions=_PARTITIONS))
    return home


def _send(bootstrap: str, seconds: int, folder: Path) -> int:
    """Send a record and wait until it has come out; then send the others at their pace; return how many in all."""
    days = date(2013, 1, 1), date(2013, 12, 31)
    # What is late is not delivered, and what is cancelled is no row.
    on_time = (r for r in Nycflights13.load().records(*days) if -60 < (r.value.get("dep_delay_min") or -99) < 120)  # noqa: PLR2004
    todo = list(islice(on_time, 1 + seconds * PER_SECOND))
    producer: Any = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=0)
    producer.send(SOURCE, key=todo[0].key, value=encode(todo[0].value)).get(30)
    came = wait_until(lambda: record_count(bootstrap, RESULTS) == 1, SystemClock(), deadline_seconds=_START_SECONDS)
    assert came, f"the first record did not come out; the program's last words: {last_words(folder)}"
    begun = time.monotonic()
    for number, record in enumerate(todo[1:]):
        time.sleep(max(0.0, begun + number / PER_SECOND - time.monotonic()))
        producer.send(SOURCE, key=record.key, value=encode(record.value))
    producer.flush()
    wait_until(
        lambda: record_count(bootstrap, RESULTS) >= len(todo),
        SystemClock(),
        deadline_seconds=_DRAIN_SECONDS,
    )
    producer.close()
    return len(todo)


def _latencies(bootstrap: str, sent: int) -> list[int]:
    """Return how long each record took, ascending; they must have come out once each."""
    put = {_flight(record): record.timestamp for record in consumed_raw(bootstrap, SOURCE)}
    came = {_flight(record): record.timestamp for record in consumed_raw(bootstrap, RESULTS)}
    once = [row["flight_id"] for row in consumed(bootstrap, RESULTS).once]
    assert len(once) == len(set(once)) == len(put) == sent, f"{sent} were sent, {len(once)} came out"
    counts_from = sorted(put.values())[1] + _WARM_SECONDS * 1000
    return sorted(came[flight] - at for flight, at in put.items() if at >= counts_from)


def _flight(record: Any) -> int:  # noqa: ANN401 - a record of kafka-python
    return int(json.loads(record.value)["flight_id"])


def last_words(folder: Path) -> str:
    """Return the ends of the logs below a folder."""
    logs = sorted(folder.rglob("*.log"))
    return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-_LAST_WORDS:]}" for log in logs)
