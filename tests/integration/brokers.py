"""Brokers of a test's own, alone and as a cluster: to be killed, moved and restarted."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from socket import socket

from sluice.devstack.kafka.admin import Administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.settings import settings

_OF_NO_CONNECTION = range(12_000, 32_000)
"""Linux gives connections ports from 32,768 on; stacks of Sluice listen below 12,000."""


def free_ports(count: int = 2) -> list[int]:
    """Return ports that were free a moment ago, all different.

    They are none of those that the kernel gives to connections: a client of another test could be given one before who
    asked for it listens. They are drawn, so that two tests at once ask for the same one once in thousands of times.
    """
    found: list[int] = []
    with ExitStack() as stack:
        for port in SystemRandom().sample(_OF_NO_CONNECTION, len(_OF_NO_CONNECTION)):
            with suppress(OSError):
                stack.enter_context(socket()).bind(("127.0.0.1", port))
                found.append(port)
            if len(found) == count:
                break
    return found


def add_listeners(broker: BrokerProcess, listeners: Mapping[str, tuple[int, str]]) -> None:
    """Give a prepared broker further listeners without a login: the port of each, and what it advertises."""
    more = {
        "listeners": [f"{name}://127.0.0.1:{port}" for name, (port, _) in listeners.items()],
        "advertised.listeners": [f"{name}://{advertised}" for name, (_, advertised) in listeners.items()],
        "listener.security.protocol.map": [f"{name}:PLAINTEXT" for name in listeners],
    }
    file = broker.folder / "server.properties"
    lines = [",".join([line, *more.get(line.partition("=")[0], ())]) for line in file.read_text().splitlines()]
    file.write_text("\n".join([*lines, ""]))


@contextmanager
def running(broker: BrokerProcess) -> Iterator[subprocess.Popen[bytes]]:
    """Run a prepared broker; on the way out it is gone, whatever happened."""
    with (broker.folder / "output").open("wb") as output:
        process = subprocess.Popen(broker.command(), stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        broker.wait_ready(90)
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, by SIGKILL if it takes too long."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def own_broker_in(folder: Path) -> Iterator[BrokerProcess]:
    """Run a broker that nobody else knows, with its data in a folder."""
    broker = BrokerProcess(folder, *free_ports(), settings().jars)
    broker.prepare()
    with running(broker):
        yield broker


@dataclass
class RunningCluster:
    """Brokers in failure domains of their own, the only controller first."""

    brokers: list[BrokerProcess]
    processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def bootstrap(self) -> list[str]:
        return [broker.bootstrap for broker in self.brokers]

    def start(self, *numbers: int) -> None:
        """Start brokers, and return when they answer."""
        for number in numbers:
            broker = self.brokers[number - 1]
            with (broker.folder / "output").open("ab") as output:
                self.processes[number] = subprocess.Popen(
                    broker.command(), stdout=output, stderr=subprocess.STDOUT, start_new_session=True
                )
        for number in numbers:
            self.brokers[number - 1].wait_ready(90)

    def kill(self, number: int) -> None:
        """End a broker as a power cut does."""
        self.processes[number].kill()
        self.processes.pop(number).wait()

    def stop(self) -> None:
        """End what runs, the controller last."""
        for number in sorted(self.processes, reverse=True):
            self.kill(number)


@contextmanager
def running_cluster(folder: Path, count: int, admin: Administrator | None = None) -> Iterator[RunningCluster]:
    """Run a cluster of brokers, which ask who connects if there is an administrator; on the way out it is gone."""
    controller, *ports = free_ports(count + 1)
    first = folder / "1"
    brokers = [
        BrokerProcess(
            folder / str(number),
            port,
            controller,
            settings().jars,
            heap="192m",
            number=number,
            cluster=count,
            first=None if number == 1 else first,
            admin=admin,
        )
        for number, port in enumerate(ports, start=1)
    ]
    cluster = RunningCluster(brokers)
    try:
        brokers[0].prepare()  # it draws the cluster's id
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(BrokerProcess.prepare, brokers[1:]))
        cluster.start(*range(1, count + 1))
        yield cluster
    finally:
        cluster.stop()
