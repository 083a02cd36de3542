"""Brokers of a test's own: to be killed, moved and restarted."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from socket import socket

from sluice.local.broker import Broker


def free_ports(count: int = 2) -> list[int]:
    """Return ports that were free a moment ago, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


@contextmanager
def running(broker: Broker) -> Iterator[subprocess.Popen[bytes]]:
    """Run a prepared broker; on the way out it is gone, whatever happened."""
    with (broker.folder / "output").open("wb") as output:
        process = subprocess.Popen(broker.command(), stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        broker.wait_ready(90)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
