"""The questions that a batch asks a warm engine, over a connection that both sides prove to be allowed.

A batch gets a door of its own into the engine's JVM and holds its connection for as long as it uses that door. The
kernel closes the connection when the batch ends, however it ends; then the engine cancels what it has left running.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any

from sluice.errors import NotReadyError
from sluice.launch.ports import HOST
from sluice.launch.private import write_private

ATTACH, SETTLE, DRAIN, STATUS = "attach", "settle", "drain", "status"
"""What an engine is asked: for a door; to have wound up what dead batches left; to end with its last batch; how it
is."""

_FILE = "engine.json"
_ANSWER_SECONDS = 10.0
_WIND_UP_SECONDS = 30.0
_REPEAT = "repeat it; a batch can do without one."


@dataclass(frozen=True)
class EngineAddress:
    """Where an engine answers.

    Attributes:
        port: on the loopback.
        token: proves that the other side may read the state folder; each side asks the other for it.
        settings: what its session was started with, by Spark's names.
        version: Sluice's.
    """

    port: int
    token: str
    settings: Mapping[str, str]
    version: str

    def write(self, folder: Path) -> None:
        """Put it into an engine's folder, for this user alone."""
        write_private(folder / _FILE, json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> EngineAddress | None:
        """Return the address in an engine's folder; None while the engine starts."""
        try:
            return cls(**json.loads((folder / _FILE).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None


@dataclass(frozen=True)
class Attachment:
    """A batch's door into the JVM of an engine.

    Attributes:
        port: of the door.
        secret: opens it.
        group: of the jobs that come through it; they are cancelled when the batch ends.
        settings: those of the engine's session.
    """

    port: int
    secret: str
    group: str
    settings: Mapping[str, str]


@dataclass(frozen=True)
class EngineClient:
    """Asks the engine at an address. Every method raises NotReadyError if it does not answer, or is another program."""

    address: EngineAddress

    @contextmanager
    def attached(self) -> Iterator[Attachment]:
        """Get a door into the engine, and keep it open inside this block.

        Raises:
            NotReadyError: it takes in no batch now.
        """
        with _connected(self.address) as connection:
            answer = _ask(connection, ATTACH, _WIND_UP_SECONDS)
            if why := answer.get("refused"):
                raise NotReadyError(f"the warm engine takes in no batch now: {why}.", fix=_REPEAT)
            yield Attachment(answer["port"], answer["secret"], answer["group"], self.address.settings)

    def settle(self) -> None:
        """Return when nothing goes on of any batch that is dead."""
        self._ask(SETTLE, _WIND_UP_SECONDS)

    def drain(self) -> None:
        """Let the engine end when its last batch has: it takes in no other."""
        self._ask(DRAIN, _ANSWER_SECONDS)

    def status(self) -> Mapping[str, Any]:
        """Return what the engine says of itself: `attached`, `served` and `idle_seconds`."""
        return self._ask(STATUS, _ANSWER_SECONDS)

    def _ask(self, what: str, seconds: float) -> dict[str, Any]:
        with _connected(self.address) as connection:
            return _ask(connection, what, seconds)


@contextmanager
def _connected(address: EngineAddress) -> Iterator[Connection]:
    """Connect, each side with proof that it holds the token.

    Raises:
        NotReadyError: it does not answer, or it is another program.
    """
    try:
        with socket.create_connection((HOST, address.port), _ANSWER_SECONDS) as link:
            link.settimeout(None)
            connection = Connection(link.detach())
    except OSError as error:
        raise NotReadyError(f"the warm engine does not answer: {error}.", fix=_REPEAT) from error
    with connection:
        token = address.token.encode()
        try:
            _await(connection, _ANSWER_SECONDS)  # what sleeps accepts a connection, and says nothing
            answer_challenge(connection, token)
            deliver_challenge(connection, token)
        except (OSError, EOFError, AuthenticationError) as error:
            raise NotReadyError(f"what answers at the warm engine's port is none: {error}.", fix=_REPEAT) from error
        yield connection


def _ask(connection: Connection, what: str, seconds: float) -> dict[str, Any]:
    try:
        connection.send_bytes(what.encode())
        _await(connection, seconds)
        answer: dict[str, Any] = json.loads(connection.recv_bytes())
    except (OSError, EOFError) as error:
        raise NotReadyError(f"the warm engine broke off: {error!r}.", fix=_REPEAT) from error
    return answer


def _await(connection: Connection, seconds: float) -> None:
    if not connection.poll(seconds):
        raise NotReadyError(f"the warm engine says nothing for {seconds:.0f} s.", fix=_REPEAT)
