"""The warm engine's process: lets batches into the JVM of its session, and cancels what dead ones leave in it.

Each batch gets a gateway of its own, with a secret of its own. When its connection closes, the gateway goes with all
that it held, and Spark's jobs of the batch are cancelled. A batch is a process of its own, so its code is today's, and
what it breaks in Python it breaks for itself.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge
from threading import Condition, Thread
from typing import Any

from pyspark.sql import SparkSession

from sluice.clock import Clock, SystemClock
from sluice.launch.engine_client import ATTACH, DRAIN, SETTLE, STATUS
from sluice.launch.ports import HOST
from sluice.launch.processes import wait_until
from sluice.observability.logs import get_logger

log = get_logger()

MAX_ATTACHED = 4
"""Batches at once. The next one starts a session of its own: nothing waits behind others."""
MAX_SERVED = 500
"""Batches of one engine: a JVM gathers classes that Spark has generated and caches that it does not bound."""
_CHECK_SECONDS = 1.0
_CANCEL_SECONDS = 20.0
_POLL_SECONDS = 0.02
BROKEN = 70
"""Exit code of an engine that could not cancel a dead batch's jobs: they end with it."""


@dataclass
class EngineServer:
    """Serves batches until it is idle, or is asked to end.

    Attributes:
        spark: its session.
        token: what a batch proves to hold.
        idle_seconds: how long it lives without a batch.
        clock: gives the time.
    """

    spark: SparkSession
    token: str
    idle_seconds: float
    clock: Clock
    _batches: dict[str, Connection] = field(default_factory=dict)
    """Those that are attached, by their group; a dead one until nothing of it goes on."""
    _served: int = 0
    _draining: bool = False
    _idle_since: float = 0.0
    _closed: bool = False
    _changed: Condition = field(default_factory=Condition)

    def __post_init__(self) -> None:
        self._listener = Listener((HOST, 0))
        self._acceptor = Thread(target=self._accept, name="accepts batches", daemon=True)
        self._idle_since = self.clock.monotonic()

    @property
    def port(self) -> int:
        """Where it answers, on the loopback."""
        return int(self._listener.address[1])

    def serve(self) -> None:
        """Serve batches; return when the engine has been idle for long enough, or has ended its last batch."""
        self._acceptor.start()
        gateway: Any = self.spark.sparkContext._gateway  # noqa: SLF001 - PySpark gives no other way to its JVM
        with self._changed:
            while not self._is_over():
                self._changed.wait(_CHECK_SECONDS)
                if gateway.proc.poll() is not None:
                    raise ConnectionAbortedError("the JVM of the engine has ended")
            self._draining = True
        self._close()

    def drain(self) -> None:
        """Take in no batch any more, and end with the last one."""
        with self._changed:
            self._draining = True
            self._changed.notify_all()

    def _is_over(self) -> bool:
        if self._batches:
            return False
        return self._draining or self.clock.monotonic() - self._idle_since >= self.idle_seconds

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except OSError as error:
                log.warning("a connection was lost", why=repr(error))
            else:
                Thread(target=self._serve, args=(connection,), name="serves a batch", daemon=True).start()

    def _close(self) -> None:
        """Take in no connection any more; one last connection wakes up the thread that waits for them."""
        self._closed = True
        with socket.create_connection((HOST, self.port)):
            pass
        self._acceptor.join()
        self._listener.close()

    def _serve(self, connection: Connection) -> None:
        with connection:
            try:
                deliver_challenge(connection, self.token.encode())  # here, so that a silent stranger blocks nobody
                answer_challenge(connection, self.token.encode())
                while request := connection.recv_bytes().decode():
                    if request == ATTACH:
                        self._attach(connection)
                        return
                    connection.send_bytes(json.dumps(self._answer(request)).encode())
            except AuthenticationError:
                log.warning("a connection without the token was refused")
            except (EOFError, OSError):
                return

    def _answer(self, request: str) -> dict[str, Any]:
        if request == STATUS:
            idle = 0.0 if self._batches else self.clock.monotonic() - self._idle_since
            return {"attached": len(self._batches), "served": self._served, "idle_seconds": idle}
        if request == DRAIN:
            self.drain()
        elif request == SETTLE:
            with self._changed:
                self._await_end_of_dead()
        else:
            return {"refused": f"{request!r} is nothing that an engine does"}
        return {}

    def _attach(self, connection: Connection) -> None:
        group = f"batch-{secrets.token_hex(8)}"
        if why := self._refusal(group, connection):
            connection.send_bytes(json.dumps({"refused": why}).encode())
            return
        gateway: Any = None
        try:
            gateway, answer = self._gateway(group)
            connection.send_bytes(json.dumps(answer).encode())
            connection.recv_bytes()  # it says nothing more: this returns when it ends
        except (EOFError, OSError):
            pass
        finally:
            self._wind_up(group, gateway)

    def _refusal(self, group: str, connection: Connection) -> str:
        """Count a batch in, or say why none is taken in."""
        with self._changed:
            self._await_end_of_dead()  # what a dead one left does not meet the next
            if self._draining:
                return "it ends"
            if len(self._batches) >= MAX_ATTACHED:
                return f"{MAX_ATTACHED} are in it"
            self._batches[group] = connection
            self._served += 1
            self._draining = self._served >= MAX_SERVED
        return ""

    def _await_end_of_dead(self) -> None:
        while any(_is_dead(connection) for connection in self._batches.values()):
            self._changed.wait(_POLL_SECONDS)

    def _gateway(self, group: str) -> tuple[Any, dict[str, Any]]:
        jvm: Any = self.spark._jvm  # noqa: SLF001 - the same
        secret = secrets.token_hex(32)
        loopback = jvm.java.net.InetAddress.getByName(HOST)
        builder = jvm.py4j.ClientServer.ClientServerBuilder()
        gateway = builder.javaPort(0).javaAddress(loopback).authToken(secret).build()
        gateway.startServer()
        port = gateway.getJavaServer().getListeningPort()
        return gateway, {"port": port, "secret": secret, "group": group}

    def _wind_up(self, group: str, gateway: Any) -> None:  # noqa: ANN401 - a Java object
        try:
            self._cancel(group)
            if gateway is not None:
                gateway.shutdown()
        finally:
            with self._changed:
                del self._batches[group]
                self._idle_since = self.clock.monotonic()
                self._changed.notify_all()

    def _cancel(self, group: str) -> None:
        """Cancel all jobs of a group, and see them end. If they do not, end this process, and them with it."""
        context: Any = self.spark.sparkContext._jsc.sc()  # noqa: SLF001 - the same
        context.cancelJobGroupAndFutureJobs(group)
        if not wait_until(lambda: not self._runs(group), SystemClock(), deadline_seconds=_CANCEL_SECONDS):
            log.error("jobs of a dead batch cannot be cancelled", group=group)
            os._exit(BROKEN)

    def _runs(self, group: str) -> bool:
        tracker = self.spark.sparkContext.statusTracker()
        jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group))
        return any(job is not None and job.status == "RUNNING" for job in jobs)


def _is_dead(connection: Connection) -> bool:
    """Whether the batch behind a connection has ended: nothing comes of one that lives, so only its end is read."""
    return connection.poll()
