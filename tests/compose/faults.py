"""What may happen to the machines of an installation, and the proof that it happened."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from tests.compose.containers import NAME, Containers, ContainersError, eventually

FIRED_SECONDS = 60.0
NETWORK = f"{NAME}_inside"

_CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=3).close()
except OSError as error:
    print("no connection:", error)
else:
    print("connected")
"""
_ASK = """
import socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=3) as connection:
        context.wrap_socket(connection)
except TimeoutError:
    print("silent")
except OSError as error:
    print("answers:", error)
else:
    print("answers")
"""


class Fault(Protocol):
    """Something that happens to one service."""

    @property
    def service(self) -> str:
        """Whose container it is."""

    def fire(self, containers: Containers, neighbour: str) -> str:
        """Let it happen, and return the proof that it did.

        Raises:
            ContainersError: it did not.
        """

    def end(self, containers: Containers) -> None:
        """Undo what nobody else undoes."""


@dataclass(frozen=True)
class Kill:
    """All processes of a container die by SIGKILL, as if its machine lost power; the engine starts it again."""

    service: str

    def fire(self, containers: Containers, neighbour: str) -> str:  # noqa: ARG002 - the engine proves it
        """Kill from inside: what `docker kill` kills, the engine does not start again."""
        before = containers.state(self.service)
        with suppress(ContainersError):  # the shell may die with the rest
            containers.run(self.service, "bash", "-c", "kill -KILL -1", deadline=30)
        after = eventually(
            f"{self.service} has died",
            lambda: now if (now := containers.state(self.service)).restarts > before.restarts else None,
            FIRED_SECONDS,
        )
        return f"{self.service} was killed: start {after.restarts + 1} followed {before.started}"

    def end(self, containers: Containers) -> None:
        """Nothing is to be undone."""


@dataclass(frozen=True)
class Pause:
    """A container stands still: its connections stay open, and nothing answers on them."""

    service: str
    port: int

    def fire(self, containers: Containers, neighbour: str) -> str:
        """Pause it, and ask it something."""
        containers.compose("pause", self.service)
        status = containers.state(self.service).status
        said = containers.python(neighbour, _ASK, self.service, str(self.port)).strip()
        if (status, said) != ("paused", "silent"):
            raise ContainersError(f"{self.service} should stand still; it is {status}, and {said}")
        return f"{self.service} stands still: a handshake got no answer"

    def end(self, containers: Containers) -> None:
        """Let it go on."""
        containers.compose("unpause", self.service)


@dataclass(frozen=True)
class Cut:
    """A container has no network for a while."""

    service: str
    port: int

    def fire(self, containers: Containers, neighbour: str) -> str:
        """Take the network away, and look for the service from a neighbour."""
        before = containers.state(self.service)
        containers.docker("network", "disconnect", NETWORK, before.id)
        said = containers.python(neighbour, _CONNECT, before.addresses[NETWORK], str(self.port)).strip()
        if NETWORK in containers.state(self.service).addresses or not said.startswith("no connection"):
            raise ContainersError(f"{self.service} should have no network: {said}")
        return f"{self.service} had no network: {said}"

    def end(self, containers: Containers) -> None:
        """Give it back, under the name that the others know."""
        containers.docker("network", "connect", "--alias", self.service, NETWORK, containers.state(self.service).id)


def single_faults() -> tuple[Fault, ...]:
    """Return what happens one after the other."""
    return (
        Kill("kafka-2"),
        Kill("spark-worker-1"),
        Kill("spark-master"),
        Kill("runner"),
        Kill("postgres"),
        Cut("kafka-3", 9092),
        Pause("kafka-1", 9092),
        Kill("airflow-api"),
    )


def pairs_of_faults(seed: int, count: int = 4) -> list[tuple[Fault, Fault]]:
    """Return pairs of faults of two services, the same for the same seed."""
    every = [pair for pair in combinations(single_faults(), 2) if pair[0].service != pair[1].service]
    return random.Random(seed).sample(every, count)


def neighbour_of(faults: Sequence[Fault]) -> str:
    """Return a service with Python that none of these faults happens to."""
    hit = {fault.service for fault in faults}
    return next(name for name in ("kafka-1", "kafka-2", "kafka-3") if name not in hit)
