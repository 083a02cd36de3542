"""A stream under its keeper on three brokers, with a reconciler that goes round: faults strike it while it works."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event, Lock, Thread

from kafka import KafkaProducer
from kafka.errors import KafkaError
from kafka.producer.future import FutureRecordMetadata

from sluice.clock import SystemClock
from sluice.errors import SluiceError, UnreachableError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.processes import wait_until
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.streams.health.health import FINE
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.topics.administration import TopicCreation
from tests.integration.brokers import RunningCluster, running_cluster
from tests.integration.following import follow
from tests.integration.spark.conftest import DriverPlace, values_of
from tests.matrix.census import Census
from tests.oracle import departures, differences, flights

log = logging.getLogger(__name__)

DAYS = ("2013-01-01", "2013-01-02")
UNIT, TOPIC = "flights", "flights"
PIECE = 60
"""Records that are sent at a time: some three hours of flights."""
DISORDER = timedelta(hours=18)
"""How far partitions drift apart while brokers are silent; the shipped pipeline allows a quarter of an hour."""
LEADERS = ((2, 3, 1), (3, 1, 2), (2, 1, 3), (3, 2, 1))
"""Replicas per partition: the controller, which is broker 1, leads none, and is never killed."""
DEADLINE_SECONDS = 300.0


class OutlivingFeed:
    """Two days of flights, sent piece by piece without waiting for answers, with all replicas' acknowledgement."""

    def __init__(self, bootstrap: list[str]) -> None:
        self._table = flights(*DAYS)
        self._left = [(str(value["carrier"]), json.dumps(value).encode()) for value in values_of(self._table)]
        patience = int(DEADLINE_SECONDS * 1000)
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap, acks="all", delivery_timeout_ms=patience, max_block_ms=patience
        )
        self._sent: list[tuple[bytes | None, FutureRecordMetadata]] = []

    def send(self, count: int = PIECE) -> None:
        """Send the next flights."""
        piece, self._left = self._left[:count], self._left[count:]
        for carrier, value in piece:
            self.send_value(carrier.encode(), value)

    def send_value(self, key: bytes, value: bytes | None) -> FutureRecordMetadata:
        """Send a record of a test's own."""
        future = self._producer.send(TOPIC, key=key, value=value)
        self._sent.append((value, future))
        return future

    def send_rest(self) -> None:
        """Send what is left, and then the heartbeat that closes every interval, whatever the disorder."""
        self.send(len(self._left))
        self.acknowledged()
        closes_all = (self._table["hour_utc"].max() + timedelta(hours=5) + DISORDER).strftime("%Y-%m-%dT%H:%M:%SZ")
        heartbeat = {"heartbeat": True, "scheduled_at": closes_all, "observed_at": closes_all}
        self.send_value(b"", json.dumps(heartbeat).encode())

    def acknowledged(self) -> tuple[list[bytes | None], list[bytes | None]]:
        """Wait for every answer; return the values that were acknowledged, and those of which nothing was heard."""
        known: tuple[list[bytes | None], list[bytes | None]] = ([], [])
        for value, future in self._sent:
            try:
                future.get(DEADLINE_SECONDS)
                known[0].append(value)
            except KafkaError:
                known[1].append(value)
        return known

    def close(self) -> None:
        """End the producer, without waiting for what cannot be sent."""
        self._producer.close(timeout=5)


class Reconciler:
    """Starts what has died, as the DAG does each minute; here all the time."""

    def __init__(self, open_project: Callable[[], Project]) -> None:
        self._open_project = open_project
        self._over, self._turn = Event(), Lock()
        self._thread = Thread(target=self._go_round)
        self.failure: Exception | None = None

    def _go_round(self) -> None:
        while not self._over.wait(0.5):
            with self._turn:
                try:
                    follow(self._open_project(), SystemClock())
                except SluiceError as error:
                    log.info("the reconciler could not see: %s", error)
                except Exception as error:  # noqa: BLE001 - a thread has nobody to raise it to
                    self.failure = error
                    return

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let it start nothing while the block runs."""
        with self._turn:
            yield

    def __enter__(self) -> Reconciler:  # noqa: PYI034 - nobody derives from it
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(120)


class LiveStream:
    """What a fault strikes.

    Attributes:
        place: the state folder and project of the stream.
        cluster: its brokers.
        feed: sends to it.
        reconciler: starts it again.
    """

    def __init__(
        self, place: DriverPlace, cluster: RunningCluster, feed: OutlivingFeed, reconciler: Reconciler
    ) -> None:
        self.place, self.cluster, self.feed, self.reconciler = place, cluster, feed, reconciler
        self.project = place.project()
        self.life = self.project.streams.life(UNIT)
        self.launcher = self.project.processes.launcher()

    def report(self) -> DriverReport:
        """Return what the launcher sees of the newest attempt."""
        attempt = self.project.records.registry().latest_attempt(UNIT)
        assert attempt is not None
        return self.launcher.find(attempt.key)

    def running(self) -> DriverReport:
        """Wait until a driver lives, and return what the launcher sees of it."""
        found: list[DriverReport] = []

        def lives() -> bool:
            with suppress(UnreachableError):  # the reconciler submits one in this moment
                found[:] = [self.report()]
            return bool(found) and found[0].state is DriverState.RUNNING

        self.eventually(lives, "a driver lives")
        return found[0]

    def keys(self) -> list[str]:
        """Return all keys that were ever submitted."""
        return sorted(folder.name for folder in self.project.folder.drivers.iterdir())

    def raw_values(self) -> list[bytes | None]:
        """Return the values in the raw table; none before it is there."""
        begun = self.place.state / "tables" / "flights_raw" / "_delta_log" / f"{0:020}.json"
        return list(self.place.table("flights_raw")["value"]) if begun.exists() else []

    def census(self) -> Census:
        """Compare what was sent with the raw table."""
        known, unknown = self.feed.acknowledged()
        return Census.of(known, self.raw_values(), unknown=unknown)

    def has_read_all(self) -> None:
        """Wait until nothing that was acknowledged is missing in the raw table."""
        known, _ = self.feed.acknowledged()
        self.eventually(lambda: Census.of(known, self.raw_values()).lost == 0, f"{len(known)} records are read")

    def has_published_all(self) -> None:
        """Wait until the interval table equals the oracle."""
        expected = departures(*DAYS)
        self.eventually(
            lambda: not differences(self.place.table("departures"), expected), "all intervals equal the oracle"
        )

    def unwell(self) -> list[str]:
        """Return which verdicts ask for a person, after a minute in which they may settle."""
        found: dict[str, str] = {}

        def fine() -> bool:
            verdicts = self.place.project().health.verdicts(UNIT)
            found.clear()
            found.update(
                {name: f"{each.health}: {each.why}" for name, each in verdicts.items() if each.health not in FINE}
            )
            return not found

        wait_until(fine, SystemClock(), deadline_seconds=60)
        return [f"{name} is {what}" for name, what in found.items()]

    def eventually(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until something holds; if it does not in time, say what it was and how the newest log ends."""
        if not wait_until(condition, SystemClock(), deadline_seconds=DEADLINE_SECONDS):
            said = self.launcher.log(self.report().key).read_text(errors="replace")[-3000:]
            raise AssertionError(f"not so in time: {what}. {self.keys()}; the last one's log ends: {said}")


@contextmanager
def live_stream(folder: Path, main: str = "") -> Iterator[LiveStream]:
    """Run a stream, and all that it needs; on the way out it is gone, whatever happened.

    Args:
        folder: of its own.
        main: the program of its drivers; empty: the shipped one.
    """
    with running_cluster(folder / "kafka", 3) as cluster:
        place = patient_place(folder, cluster)
        if main:
            (place.home / "spark_jobs" / "stream.py").write_text(main)
        with KafkaPythonAdministration(cluster.bootstrap, {}) as administration:
            configs = {"retention.ms": "-1", "min.insync.replicas": "2"}
            administration.create([TopicCreation(TOPIC, len(LEADERS), 3, configs, LEADERS)])
        feed, reconciler = OutlivingFeed(cluster.bootstrap), Reconciler(place.project)
        stream = LiveStream(place, cluster, feed, reconciler)
        try:
            started = stream.life.start("a test", "to be struck")
            assert started.attempt is not None, started.why
            with reconciler:
                yield stream
            assert reconciler.failure is None, repr(reconciler.failure)
        finally:
            feed.close()
            for report in stream.launcher.living():  # type: ignore[attr-defined]  # of this machine
                stream.launcher.kill(report.key)


def patient_place(folder: Path, cluster: RunningCluster) -> DriverPlace:
    """Return a state folder that knows the cluster, and a project that waits for partitions that drift apart."""
    state = folder / "state"
    write_endpoints(Settings(state=state).folder, Endpoints(kafka_bootstrap=tuple(cluster.bootstrap), airflow_url=""))
    place = DriverPlace(state).with_own_project()
    spec = place.home / "include" / "pipelines" / "departures.yaml"
    patient = spec.read_text().replace(
        "arrival_disorder: 15 minutes", f"arrival_disorder: {DISORDER.seconds // 3600} hours"
    )
    assert patient != spec.read_text()
    spec.write_text(patient)
    return place
