"""From a record to a person: a driver, `sluice serve`, and a service that notes when it is told what.

A pipeline without state delivers each departure to a topic and to a table of newest rows; a rule on each holds for
every one of them. Records are sent one by one; the time from the send to the POST at the service counts, in wall time,
with everything between: the broker, a batch of Spark, the output, the rule, the journal and the delivery.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from contextlib import ExitStack
from datetime import date
from http.server import ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

from kafka import KafkaProducer

from benchmarks.backfill.recompute import surroundings
from benchmarks.project_copy import copied_project
from benchmarks.topics import private_topics
from sluice.feeds.nycflights13 import Nycflights13
from sluice.feeds.record import encode
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from sluice.settings import StateFolder, settings
from sluice.specs.load import load_catalog
from tests.http_servers import QuietHandler, answering
from tests.integration.serving import background, running_serve
from tests.integration.spark.driver.deliveries import write_delays_alone

PIPELINE = """\
name: delays
source: flights
transform: delays:delays
time:
  allowed_lateness: 3 hours
  future_skew: 60 minutes
driver: flights
trigger: 1 second
outputs:
  - {kind: topic, topic: delays_topic, keys: [flight_id], create: {partitions: 2}}
  - {kind: latest, table: delays_table, keys: [flight_id], newest_by: delay}
alerts:
  - {name: by_topic, output: delays_topic, when: {delay: {above: -1000}}, most_per_hour: 1000}
  - {name: by_table, output: delays_table, when: {delay: {above: -1000}}, most_per_hour: 1000}
"""
_TOLD = re.compile(r"delays: (by_\w+) holds for (\d+)")
_READY_SECONDS = 180.0


class Service(ThreadingHTTPServer):
    """Notes when each rule alerted it of which flight."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.told: dict[tuple[str, int], list[float]] = {}
        self.lock = threading.Lock()


class _Handler(QuietHandler):
    server: Service

    def answer(self) -> None:
        at = time.time()
        found = _TOLD.search(json.loads(self.body())["title"])
        if found:
            with self.server.lock:
                self.server.told.setdefault((found[1], int(found[2])), []).append(at)
        self.respond(200)


def seconds_to_tell(root: Path, records: int, per_second: float) -> tuple[dict[str, list[float]], int, int]:
    """Return how long each rule took to alert of each record, how many were alerted twice, and how many never.

    Args:
        root: an empty folder.
        records: how many are sent.
        per_second: how fast.
    """
    home = copied_project(root / "home", "include", "spark_jobs")
    write_delays_alone(home, PIPELINE)
    folder = StateFolder(root / "state")
    with ExitStack() as stack:
        bootstrap = stack.enter_context(private_topics(root)).bootstrap
        write_endpoints(folder, Endpoints((bootstrap,), airflow_url=""))
        with KafkaPythonAdministration((bootstrap,), {}) as administration:
            shapes = load_catalog(home / "include").kafka_topics()
            apply(Declared({"delays_topic": shapes["delays_topic"]}), administration)
        service = Service()
        stack.enter_context(answering(service))
        variables = surroundings(folder.root, home)
        stack.enter_context(background("driver", _driver(home), folder.root, variables))
        told = {"path": f"json://127.0.0.1:{service.server_port}/told"}
        connections = {"sluice_alerts": {"conn_type": "apprise", "extra": {"config": told}}}
        stack.enter_context(running_serve(folder.root, variables, connections))
        sent = _send(bootstrap, service, records, per_second)
    rules = ("by_topic", "by_table")
    took = {
        rule: [service.told[rule, n][0] - at for n, at in sent.items() if (rule, n) in service.told] for rule in rules
    }
    twice = sum(len(times) - 1 for times in service.told.values())
    return took, twice, len(rules) * len(sent) - sum(map(len, took.values()))


def _send(bootstrap: str, service: Service, records: int, per_second: float) -> dict[int, float]:
    """Send one record until its alert comes, then the others at their pace; return when each was sent."""
    topic = load_catalog(settings().home / "include").topics["flights"]
    found = (r for r in Nycflights13.load().records(date(2013, 1, 1), date(2013, 1, 3)) if r.value.get("departed_at"))
    todo = list(islice(found, records + 1))
    assert topic.name == "flights"
    producer: Any = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=0)
    sent: dict[int, float] = {}

    def send(record: Any) -> int:  # noqa: ANN401 - a feed's record
        number = int(record.value["flight_id"])
        sent[number] = time.time()
        producer.send("flights", key=record.key, value=encode(record.value)).get(30)
        return number

    first, deadline = send(todo[0]), time.monotonic() + _READY_SECONDS
    while not all((rule, first) in service.told for rule in ("by_topic", "by_table")):
        if time.monotonic() > deadline:
            raise RuntimeError(f"no alert of the first record came in {_READY_SECONDS:.0f} s")
        time.sleep(0.1)
    del sent[first]
    begun = time.monotonic()
    for number, record in enumerate(todo[1:]):
        # Not in step with the trigger: each record meets another moment of it.
        time.sleep(max(0.0, begun + number / per_second - time.monotonic()))
        send(record)
    deadline = time.monotonic() + 30
    while len(service.told) < 2 * (records + 1) and time.monotonic() < deadline:
        time.sleep(0.1)
    producer.close()
    return sent


def _driver(home: Path) -> list[str]:
    return [sys.executable, str(home / "spark_jobs" / "stream.py"), "--unit", "flights", "--generation", "1"]
