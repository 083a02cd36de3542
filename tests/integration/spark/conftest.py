"""What Spark tests share: real drivers in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.failpoints import marker
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.processes import descendants, wait_until
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.spark.driver.exit_report import ExitReport
from sluice.spark.driver.unit import run_streams
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation
from tests.integration.brokers import own_broker_in
from tests.integration.spark.backfill.backfills import Drained
from tests.matrix.census import Census
from tests.oracle import as_known, flights

_DAYS = ("2013-01-01", "2013-01-02")
TRANSFORM = "spark_jobs/transforms/departures.py"
BAD_VALUES = {
    "tombstone": None,
    "empty": b"",
    "malformed": b"\xff\x00 no json",
    "wrong_type": b'{"flight_id": "seven", "carrier": "AA"}',
    "missing_field": b'{"flight_id": 7}',
}


@dataclass(frozen=True)
class RunningDriver:
    """A driver under no keeper, to be put to sleep, woken up and asked to stop."""

    process: subprocess.Popen[bytes]
    log: Path

    def sleep(self) -> None:
        """Stop it, with its JVM, wherever it is."""
        os.killpg(self.process.pid, signal.SIGSTOP)
        self.asleep()

    def asleep(self) -> None:
        """Wait until it and its JVM have been stopped."""

        def stopped() -> bool:
            states = {_state(pid) for pid in descendants(self.process.pid)}
            return _state(self.process.pid) == "T" and states <= {"T", "Z", ""}

        self.eventually(stopped, "has fallen asleep")

    def wake(self) -> None:
        """Let it go on."""
        os.killpg(self.process.pid, signal.SIGCONT)

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        self.process.terminate()
        return self.process.wait(90)

    def eventually(self, condition: Callable[[], bool], what: str, deadline_seconds: float = 180) -> None:
        """Wait until something holds; if it does not in time, say what it was and how the driver's log ends."""
        in_time = wait_until(condition, SystemClock(), deadline_seconds=deadline_seconds)
        assert in_time, f"not so in time: it {what}. Its log ends: {self.log.read_text(errors='replace')[-3000:]}"


def _state(pid: int) -> str:
    """Return the kernel's letter for what a process does; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""


@dataclass(frozen=True)
class DriverPlace:
    """A private state folder in which drivers of a unit run against the shared broker.

    Attributes:
        state: the folder.
        home: the project whose specs and transforms they run.
        unit: whose drivers they are.
    """

    state: Path
    home: Path = field(default_factory=lambda: settings().home)
    unit: str = "flights"

    def with_own_project(self) -> DriverPlace:
        """Return the place with a copy of the project, to be edited."""
        home = self.state.parent / "project"
        for part in ("include", "spark_jobs"):
            shutil.copytree(self.home / part, home / part, ignore=shutil.ignore_patterns("__pycache__"))
        return DriverPlace(self.state, home)

    def with_departures(self, line: str) -> DriverPlace:
        """Return the place with a copy of the project whose pipeline `departures` says one thing more."""
        own = self.with_own_project()
        spec = own.home / "include" / "pipelines" / "departures.yaml"
        spec.write_text(f"{spec.read_text()}{line}\n")
        return own

    def sluice(self, *arguments: str) -> dict[str, Any]:
        """Run a command here, which must succeed, and return what it says in JSON."""
        command = [sys.executable, "-c", "from sluice.cli.main import main; main()", *arguments, "-o", "json"]
        ended = subprocess.run(
            command, env=self.environment(), capture_output=True, text=True, timeout=500, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        found: dict[str, Any] = json.loads(ended.stdout)
        return found

    def project(self) -> Project:
        """Return the project in this state folder."""
        return Project.open_strict(Settings(home=self.home, state=self.state))

    def run(self, *, generation: int = 1, failpoint: str = "", master: str = "") -> subprocess.CompletedProcess[str]:
        """Run a driver until it has read everything, or until the failpoint kills it.

        Args:
            generation: the attempt's.
            failpoint: where it dies; empty: nowhere.
            master: where it finds its cores; empty: on this machine, or where the stack of this state folder says.
        """
        return subprocess.run(
            self.draining(generation),
            env=self.environment(failpoint, master),
            start_new_session=True,  # a driver leads its process group, as under a keeper
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )

    def finish(self, spark: SparkSession, *, generation: int) -> ExitCode:
        """Read everything in this process, in a session that is there already: half a minute less than a driver."""
        last_words = ExitReport()
        try:
            return run_streams(self.project(), spark, self.unit, generation, available_now=True, exit_report=last_words)
        except Exception as error:  # noqa: BLE001 - a driver's main keeps it in the same way
            return last_words.write(error)

    @contextmanager
    def driver(self, generation: int, *, failpoint: str = "") -> Iterator[RunningDriver]:
        """Run a driver that goes on until it is told to stop; on the way out it is gone, whatever happened."""
        self.state.mkdir(parents=True, exist_ok=True)
        log = self.state / f"g{generation}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                self._command(generation),
                env=self.environment(failpoint),
                start_new_session=True,
                stdout=output,
                stderr=output,
            )
        try:
            yield RunningDriver(process, log)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def draining(self, generation: int = 1) -> list[str]:
        """Return the command of a driver that ends when it has read everything."""
        return [*self._command(generation), "--available-now"]

    def _command(self, generation: int) -> list[str]:
        main = self.home / "spark_jobs" / "stream.py"
        return [sys.executable, str(main), "--unit", self.unit, "--generation", str(generation)]

    def environment(self, failpoint: str = "", master: str = "") -> dict[str, str]:
        """Return the variables of a process that works on this place."""
        places = {"SLUICE_HOME": str(self.home), "SLUICE_STATE": str(self.state), "SLUICE_SPARK_MASTER": master}
        return {**os.environ, **places, "SLUICE_FAILPOINT": failpoint}

    def fired(self, failpoint: str) -> bool:
        """Whether the failpoint left its proof."""
        return marker(Settings(state=self.state, failpoint=failpoint)).exists()

    def table(self, name: str) -> pd.DataFrame:
        """Read a Delta table as any reader would, without Spark."""
        return read_rows(self.state / "tables" / name).to_pandas()

    def census(self, sent: Iterable[bytes | None]) -> Census:
        """Compare the values in the raw table with those that were sent; each is sent once."""
        return Census.of(sent, self.table("flights_raw")["value"])


@pytest.fixture(scope="session")
def two_days(broker: BrokerProcess) -> int:
    """Publish two days of flights, one record of each bad kind, and the heartbeat; return the number of records."""
    return publish_two_days(broker.bootstrap)


def publish_two_days(bootstrap: str, *, without: Callable[[Mapping[str, object]], bool] = lambda _: False) -> int:
    """Create the topic and fill it; return the number of records.

    Args:
        bootstrap: host:port of a broker that has no topic `flights` yet.
        without: says which flights are left out.
    """
    with KafkaPythonAdministration((bootstrap,), {}) as administration:
        administration.create([TopicCreation("flights", 4, 1, {"retention.ms": "-1"})])
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    values = [value for value in values_of(flights(*_DAYS)) if not without(value)]
    for value in values:
        producer.send("flights", key=str(value["carrier"]).encode(), value=json.dumps(value).encode())
    for kind, bad in BAD_VALUES.items():
        producer.send("flights", key=kind.encode(), value=bad)
    producer.flush()
    producer.send("flights", value=json.dumps(heartbeat()).encode(), partition=0)
    producer.close()
    return len(values) + len(BAD_VALUES) + 1


def heartbeat() -> dict[str, object]:
    """Return the record that closes every interval of the two days."""
    closes_all = (flights(*_DAYS)["hour_utc"].max() + timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"heartbeat": True, "scheduled_at": closes_all, "observed_at": closes_all}


def two_days_of_values() -> list[bytes | None]:
    """Return the values of all records that `publish_two_days` sends."""
    sound = [*values_of(flights(*_DAYS)), heartbeat()]
    return [*(json.dumps(value).encode() for value in sound), *BAD_VALUES.values()]


def values_of(table: pd.DataFrame) -> list[dict[str, object]]:
    rows = as_known(table)
    form = "%Y-%m-%dT%H:%M:%SZ"
    values: list[dict[str, object]] = []
    for number, row in zip(rows.index, rows.itertuples(index=False), strict=True):
        departed = not pd.isna(row.dep_time)
        value = {"flight_id": number, "carrier": row.carrier, "flight": 1, "origin": row.origin, "dest": "LAX"}
        value |= {"scheduled_at": row.scheduled.strftime(form), "observed_at": row.observed.strftime(form)}
        value |= {"cancelled": not departed}
        if departed:
            value |= {"departed_at": row.observed.strftime(form), "dep_delay_min": int(row.dep_delay)}
        values.append(value)
    return values


def place_at(state: Path, broker: BrokerProcess) -> DriverPlace:
    """Return a state folder that knows a broker."""
    write_endpoints(Settings(state=state).folder, Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url=""))
    return DriverPlace(state)


@pytest.fixture
def place(broker: BrokerProcess, tmp_path: Path) -> DriverPlace:
    """An empty state folder that knows the broker."""
    return place_at(tmp_path / "state", broker)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """The shipped specs."""
    return load_catalog(settings().home / "include")


@pytest.fixture(scope="session")
def drained_state(
    broker: BrokerProcess, two_days: int, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> Path:
    """A state folder in which a driver has read everything; tests copy it."""
    assert two_days
    place = place_at(tmp_path_factory.mktemp("drained") / "state", broker)
    assert place.finish(spark, generation=1) is ExitCode.STOPPED
    return place.state


@pytest.fixture
def drained(drained_state: Path, tmp_path: Path, spark: SparkSession) -> Drained:
    """A private copy of the drained state."""
    return Drained.copy(drained_state, tmp_path / "copy", spark)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker that no other test knows."""
    with own_broker_in(tmp_path / "broker") as broker:
        yield broker


class Feed:
    """Two days of flights that a test sends piece by piece."""

    def __init__(self, bootstrap: str) -> None:
        with KafkaPythonAdministration((bootstrap,), {}) as administration:
            administration.create([TopicCreation("flights", 4, 1, {"retention.ms": "-1"})])
        self._table = flights(*_DAYS)
        self._left = values_of(self._table)
        self._bootstrap = bootstrap
        self.sent_values: list[bytes] = []

    @property
    def sent(self) -> int:
        """How many records were sent."""
        return len(self.sent_values)

    def send(self, share: float) -> int:
        """Send a share of all records; return how many there are now."""
        count = int(len(self._table) * share)
        piece, self._left = self._left[:count], self._left[count:]
        return self._send(piece)

    def send_rest(self) -> int:
        """Send what is left, and the heartbeat that closes every interval."""
        self._send(self._left)
        return self._send([heartbeat()])

    def _send(self, values: Sequence[dict[str, object]]) -> int:
        producer = KafkaProducer(bootstrap_servers=self._bootstrap)
        for value in values:
            encoded = json.dumps(value).encode()
            producer.send("flights", key=str(value.get("carrier", "")).encode(), value=encoded)
            self.sent_values.append(encoded)
        producer.close()
        return self.sent
