"""The ports of a stack: chosen once per state folder and kept, so that URLs stay; moved only when one is taken."""

from __future__ import annotations

import fcntl
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sluice.errors import NotReadyError
from sluice.launch.keeper import write_durably
from sluice.launch.private import made_private_folder

HOST = "127.0.0.1"
"""The embedded stack has no login and no encryption unless it is secured: it answers on this machine alone."""

DEFAULT_PORTS: Mapping[str, int] = {
    "airflow": 8080,
    "kafka": 9092,
    "controller": 9093,
    "spark": 7077,
    "spark_page": 8081,
}
"""The usual ports."""

_TRIED = 200


@dataclass(frozen=True)
class Ports:
    """Airflow's API, Kafka's clients, and Kafka's own quorum; Spark's master and its page, where there is a cluster.

    Attributes:
        further_brokers: where clients connect to the second broker and those after it.
    """

    airflow: int
    kafka: int
    controller: int
    spark: int
    spark_page: int
    further_brokers: tuple[int, ...] = ()


def is_free(port: int) -> bool:
    """Whether a port of this machine is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a connection that is being closed does not count
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


@contextmanager
def reserved(owner: str, lives: Callable[[str], bool]) -> Iterator[Callable[[int], bool]]:
    """Give what says whether a port is free, and keeps every port that is for this stack from all others.

    A stack listens seconds after it has chosen, and a component of it may be down for a while. Another stack that took
    its port meanwhile would keep it from coming back, or take its Airflow for its own.

    Args:
        owner: the stack's state folder.
        lives: says of the state folder of another stack whether that is up.

    Raises:
        NotReadyError: the folder of the locks cannot be written.
    """
    folder = made_private_folder()
    with ExitStack() as held:

        def take(port: int) -> bool:
            lock = held.enter_context((folder / f"port-{port}.lock").open("a+", encoding="utf-8"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            lock.seek(0)
            holder = lock.read()
            if (holder not in ("", owner) and lives(holder)) or not is_free(port):
                return False
            lock.truncate(0)
            lock.write(owner)
            return True

        yield take


def choose_ports(kept: Mapping[str, int], free: Callable[[int], bool] = is_free, brokers: int = 1) -> Ports:
    """Return the kept port of each purpose, or the wanted one, or the next one above it that is free.

    Raises:
        NotReadyError: there is none.
    """
    chosen: dict[str, int] = {}
    further = {_further(number): DEFAULT_PORTS["kafka"] + number for number in range(2, brokers + 1)}
    for purpose, wanted in {**DEFAULT_PORTS, **further}.items():
        candidates = [kept[purpose]] if purpose in kept else []
        candidates += range(wanted, wanted + _TRIED)
        port = next((port for port in candidates if port not in chosen.values() and free(port)), None)
        if port is None:
            raise NotReadyError(
                f"No port from {wanted} to {wanted + _TRIED - 1} is free for {purpose}.",
                fix="end what listens there (`ss -ltnp`).",
            )
        chosen[purpose] = port
    return stored_ports(chosen, brokers)


def stored_ports(kept: Mapping[str, int], brokers: int = 1) -> Ports:
    """Return ports of so many brokers from those that are kept.

    Raises:
        KeyError: one is not kept.
    """
    further = tuple(kept[_further(number)] for number in range(2, brokers + 1))
    return Ports(**{purpose: kept[purpose] for purpose in DEFAULT_PORTS}, further_brokers=further)


def _further(broker: int) -> str:
    return f"kafka_{broker}"


def read_ports(path: Path) -> Mapping[str, int]:
    """Return the ports that a state folder keeps; none the first time."""
    try:
        kept: dict[str, int] = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return kept


def write_ports(path: Path, ports: Ports) -> None:
    """Keep the ports."""
    further = {_further(number): port for number, port in enumerate(ports.further_brokers, start=2)}
    write_durably(path, {**{purpose: getattr(ports, purpose) for purpose in DEFAULT_PORTS}, **further})
