"""What integration tests share: one real broker for the whole session, in a private folder on free ports."""

from __future__ import annotations

import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from sluice.local.broker import Broker
from sluice.settings import settings


def free_ports(count: int) -> list[int]:
    """Return ports that were free a moment ago, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("broker")
    port, controller_port = free_ports(2)
    broker = Broker(folder, port, controller_port, settings().jars)
    broker.prepare()
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(broker.command(), stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        broker.wait_ready(90)
        yield broker
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def topic_name() -> str:
    """A topic name that nobody else uses."""
    return f"topic_{uuid.uuid4().hex[:12]}"
