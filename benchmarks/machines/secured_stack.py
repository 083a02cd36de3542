"""A stack that was started by `up --secure`, heard and asked by a stranger: what it says in the clear, and to anybody.

The stack is alone in a network of its own, where every byte between its parts is kept while topics are made, a driver
is started and records arrive in their table. `plaintext_bytes`: how many bytes of them are a record, a password or a
token. Within a driver, between its Python and its Java, they are counted apart (`within_drivers` in the notes): to hear
them takes the rights by which one reads its memory.
`open_routes`: every socket that listens meanwhile is asked without credentials; see `open_routes`.

Both are counted in a stack whose driver has cores of the machine, and in one with a Spark cluster, together. There
executors connect to ports on which the driver listens, which count apart, too: what passes there is not told from what
passes within it.

That both would be seen is proven: a stack that is not secured is heard in the same way (`plaintext_bytes_unsecured`),
and a server that somebody has left open beside the secured one is found (`planted_found`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import psutil

from benchmarks.machines.loopback import Heard, enter_own_network, heard
from benchmarks.machines.open_routes import ANSWER_SECONDS, Listener, described, listeners, open_routes, routes_of
from benchmarks.project_copy import copied_project
from benchmarks.trials import TrialError
from sluice.clock import SystemClock
from sluice.delta.reading import dataset_of
from sluice.devstack.airflow.api import AirflowApi, succeeded, watching
from sluice.devstack.airflow.configuration import password_file
from sluice.devstack.stack import down, up
from sluice.kafka.producer import KafkaPythonProducer
from sluice.launch.master_address import cluster_settings
from sluice.launch.processes import DRIVER_MARK, wait_until
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.specs.model.access import Role

_DEADLINE_SECONDS = 300.0
_POLL_SECONDS = 0.25
_RECORDS = {"full": 500, "small": 20}
_WORKERS = 2
"""As many as the streams take cores."""
_MARK = "a-record-that-nobody-else-should-read"


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures of a secured stack and of one that is not, and what was found.

    Args:
        size: `full`, or `small` for fewer records.
    """
    enter_own_network()
    with tempfile.TemporaryDirectory(prefix="sluice-secured-") as folder:
        visits = {
            name: _visited(Path(folder) / name, _RECORDS[size], secure=True, workers=workers)
            for name, workers in (("alone", 0), ("clustered", _WORKERS))
        }
        plain, _ = _visited(Path(folder) / "plain", _RECORDS[size], secure=False)
    heard_there, answers = [each for each, _ in visits.values()], [each for _, each in visits.values()]
    figures = {
        "plaintext_bytes": sum(sum(each.between.values()) for each in heard_there),
        "open_routes": sum(len(said) for each in answers for said in each.found.values()),
        "plaintext_bytes_unsecured": sum(plain.between.values()),
        "planted_found": all(each.planted for each in answers),
        "listeners": sum(len(each.found) for each in answers),
        "routes_asked": sum(each.routes for each in answers),
    }
    return figures, {
        "size": size,
        **{name: _note(*visit) for name, visit in visits.items()},
        "unsecured": plain.between,
    }


def _note(overheard: Overheard, asked: Asked) -> dict[str, Any]:
    return {
        "found": {name: said for name, said in described(asked.found).items() if said},
        "listening": sorted(described(asked.found)),
        "heard_bytes": overheard.total,
        "secured": overheard.between,
        "within_drivers": overheard.within,
    }


@dataclass(frozen=True)
class Overheard:
    """What was in the clear, in bytes by kind: between the parts of a stack, and within its drivers."""

    between: dict[str, int]
    within: dict[str, int]
    total: int


@dataclass(frozen=True)
class Asked:
    """What listeners said to a stranger, and whether the one was found that should be."""

    found: dict[Listener, list[str]]
    planted: bool
    routes: int


def _visited(folder: Path, records: int, *, secure: bool, workers: int = 0) -> tuple[Overheard, Asked]:
    """Bring a stack up, let it work, and ask it."""
    home = copied_project(folder / "project", "dags", "include", "plugins", "spark_jobs")
    place = Settings(home=home, state=folder / "state")
    asked = Asked({}, planted=False, routes=0)
    with heard() as tap, _ports_of_drivers() as inside:
        try:
            url = up(place, secure=secure, spark_workers=workers).airflow_url
            airflow = AirflowApi(url, place=place)
            _work(place, airflow, records)
            if secure:
                asked = _asked(url, place)
            else:
                _log_in(url)
            secrets = _secrets(place, secure=secure)
        finally:
            down(place)
    if tap.missed:
        raise TrialError(f"{tap.missed} packets were not heard")
    overheard = _overheard(tap, secrets, frozenset(inside))
    print(folder.name, _note(overheard, asked), file=sys.stderr, flush=True)
    return overheard, asked


def _work(place: Settings, airflow: AirflowApi, records: int) -> None:
    airflow.wait("topics", airflow.trigger("topics"), succeeded, _DEADLINE_SECONDS)
    request = {"action": "start", "reason": "benchmark"}
    airflow.wait("stream_flights", airflow.trigger("stream_flights", request), watching, _DEADLINE_SECONDS)
    kafka = Project.open_strict(place).kafka
    with KafkaPythonProducer(kafka.bootstrap(), "flights", kafka.client(Role.FEED)) as producer:
        for sent in [producer.send(None, _record(number)) for number in range(records)]:
            sent.wait()
    raw = place.folder.table("flights_raw")

    def arrived() -> bool:
        return (Path(str(raw)) / "_delta_log").is_dir() and dataset_of(raw).count_rows() == records

    if not wait_until(arrived, SystemClock(), deadline_seconds=_DEADLINE_SECONDS):
        raise TrialError("the records are not in the raw table")


def _record(number: int) -> bytes:
    at = {"scheduled_at": "2013-01-01T10:00:00Z", "observed_at": "2013-01-01T10:00:00Z"}
    flight = {"flight_id": number, "carrier": "AA", "flight": 1, "origin": "EWR", "dest": "LAX", "tailnum": _MARK}
    return json.dumps({**flight, **at, "cancelled": False}).encode()


def _log_in(url: str) -> None:
    """Send a password in the clear, as the client of a server that is not secured would."""
    httpx.post(f"{url}/auth/token", json={"username": "admin", "password": _MARK + "-password"}, trust_env=False)


def _secrets(place: Settings, *, secure: bool) -> dict[str, bytes]:
    """Return what nobody should read, by what it is."""
    if not secure:
        return {"records": f'"{_MARK}"'.encode(), "a password": f"{_MARK}-password".encode()}
    passwords = {file.name: file.read_bytes() for file in (place.folder.kafka / "passwords").iterdir()}
    admin = (place.folder.kafka / "admin.properties").read_text(encoding="utf-8").split('password="')[1].split('"')[0]
    kept = {**json.loads(password_file(place).read_bytes()), **_kept(place)}
    spark = cluster_settings(place.folder) / "secret"
    return {
        **({"Spark's secret": spark.read_bytes()} if spark.exists() else {}),
        "records": f'"{_MARK}"'.encode(),
        "Kafka's administrator": admin.encode(),
        **passwords,
        **{f"Airflow's {name}": value.encode() for name, value in kept.items()},
    }


def _kept(place: Settings) -> dict[str, str]:
    found: dict[str, str] = json.loads((place.folder.airflow / "secrets.json").read_bytes())
    return found


def _overheard(tap: Heard, secrets: dict[str, bytes], inside: frozenset[int]) -> Overheard:
    everywhere = tap.bytes_of(secrets)
    between = tap.bytes_of(secrets, without=inside)
    return Overheard(between, {name: everywhere[name] - between[name] for name in everywhere}, tap.total)


def _asked(url: str, place: Settings) -> Asked:
    """Ask all that listens, and beside it a server that shows a folder to everybody."""

    def get(path: str) -> httpx.Response:
        with httpx.Client(verify=False, trust_env=False, timeout=ANSWER_SECONDS) as client:  # noqa: S501 - its own descriptions, on loopback
            return client.get(f"{url}{path}")

    found, known = listeners(), routes_of(get)
    port = int(url.rpartition(":")[2])
    with _left_open(place.state) as planted:
        seen = next((each for each in listeners() if each.port == planted), None)
        was_found = seen is not None and bool(open_routes(seen, {}))
    said = {each: open_routes(each, known if each.port == port else {}) for each in found}
    return Asked(said, was_found, sum(map(len, known.values())))


@contextmanager
def _left_open(folder: Path) -> Iterator[int]:
    """Serve a folder to everybody; give the port."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().split("port ")[1].split()[0])
    finally:
        process.kill()
        process.wait()


@contextmanager
def _ports_of_drivers() -> Iterator[set[int]]:
    """Collect the ports on which drivers listen, which only they themselves connect to, until the block ends."""
    ports: set[int] = set()
    ended = Event()
    thread = Thread(target=_collect, args=(ports, ended.wait), daemon=True)
    thread.start()
    try:
        yield ports
    finally:
        ended.set()
        thread.join()


def _collect(ports: set[int], wait: Callable[[float], bool]) -> None:
    while not wait(_POLL_SECONDS):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port not in ports and connection.pid:
                try:
                    of_driver = DRIVER_MARK in psutil.Process(connection.pid).environ()
                except psutil.Error:
                    continue
                if of_driver:
                    ports.add(connection.laddr.port)
