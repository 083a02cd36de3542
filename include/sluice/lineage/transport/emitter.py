"""Sends events by a thread of its own, so that nobody ever waits for whoever collects them.

Invariants:
* an offer returns at once, whatever the transport does: what finds no place in the queue is dropped;
* what is dropped, and what could not be sent, is counted; the first of an outage is logged, and its end;
* without a configured transport there is no emitter, and OpenLineage's client is not even imported.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from queue import Empty, Full, Queue
from typing import Protocol, TypeAlias

from sluice.alerts.redaction import Redaction
from sluice.lineage.event import Event
from sluice.settings import environment, lineage_configured, lineage_file

log = logging.getLogger(__name__)

MOST_WAITING = 10_000
"""Offers that wait, a kilobyte each. Half of the places are kept free of what may be spared."""
_THREAD = "sluice-lineage"

_Make: TypeAlias = Callable[[], Iterable[Event]]


class Sender(Protocol):
    """Sends events. Both methods block, and may raise anything."""

    def send(self, event: Event) -> None:
        """Send one."""
        ...

    def close(self, seconds: float) -> None:
        """Send what a transport has kept back, for so long at most."""
        ...


class Emitter:
    """Implements `sluice.lineage.event.Lineage`.

    Args:
        connect: gives what sends; called in the thread, and again after it failed.
        most: how many offers may wait.
    """

    def __init__(self, connect: Callable[[], Sender], *, most: int = MOST_WAITING) -> None:
        self._connect = connect
        self._queue: Queue[_Make | None] = Queue(most)
        self._spared = most // 2
        self._sender: Sender | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._told = False
        self._patience = 0.0
        self.dropped = 0
        """Events, or offers of which nobody knows how many events they were, that reached nobody."""

    def offer(self, make: _Make, *, spare: bool = False) -> None:
        """Have events made and sent soon, or drop them."""
        with self._lock:
            if self._thread is None:  # it ends with the process: a service that never answers must not keep that alive
                self._thread = threading.Thread(target=self._work, name=_THREAD, daemon=True)
                self._thread.start()
        if spare and self._queue.qsize() >= self._spared:
            self._lost("too many wait to be sent")
            return
        try:
            self._queue.put_nowait(make)
        except Full:
            self._lost("too many wait to be sent")

    def close(self, seconds: float) -> None:
        """Wait until all is sent, but no longer than this; then say what was not. Raises nothing."""
        with self._lock:
            thread, self._patience = self._thread, seconds
        if thread is None:
            return
        try:
            self._queue.put(None, timeout=seconds)
            thread.join(seconds)
        except Full:
            pass
        if thread.is_alive():
            log.warning("%s of lineage could not be sent within %g s.", _count(self._waiting()), seconds)

    def _waiting(self) -> int:
        """Drop what waits, with what is being sent, and return how much that was."""
        waiting = 1
        while True:
            try:
                waiting += self._queue.get_nowait() is not None
            except Empty:
                break
        with self._lock:
            self.dropped += waiting
        return waiting

    def _work(self) -> None:
        logging.getLogger("urllib3.connectionpool").addFilter(_not_ours)  # each of six tries, for each event
        while (make := self._queue.get()) is not None:
            try:
                events = list(make())
            except Exception as error:  # noqa: BLE001 - whatever cannot be said, the rest can
                self._lost(f"it could not be made: {type(error).__name__}: {error}")
                continue
            for event in events:
                self._send(event)
        try:
            if self._sender is not None:
                self._sender.close(self._patience)
        except Exception as error:  # noqa: BLE001 - a transport
            self._lost(f"{type(error).__name__}: {error}")

    def _send(self, event: Event) -> None:
        try:
            if self._sender is None:
                self._sender = self._connect()
            self._sender.send(event)
        except Exception as error:  # noqa: BLE001 - a transport may raise anything, and harms nobody
            self._lost(f"{type(error).__name__}: {error}")
            return
        with self._lock:
            over, self._told = self._told, False
        if over:
            log.info("Lineage is sent again. %s reached nobody so far.", _count(self.dropped))

    def _lost(self, why: str) -> None:
        with self._lock:
            self.dropped += 1
            first, self._told = not self._told, True
        if first:
            why = Redaction.of_environment(environment())(why)  # a transport quotes its address
            log.warning(
                "An event of lineage was dropped, %d so far; further ones are only counted. %s", self.dropped, why
            )


def lineage() -> Emitter | None:
    """Return what sends events where that is configured; None where it is not."""
    return Emitter(_client) if lineage_configured() else None


class _ClientSender:
    """OpenLineage's client."""

    def __init__(self) -> None:
        from sluice.lineage.transport.client import as_run_event, connect  # noqa: PLC0415 - only where it is configured

        self._client = connect(lineage_file())
        self._translated = as_run_event

    def send(self, event: Event) -> None:
        self._client.emit(self._translated(event))

    def close(self, seconds: float) -> None:
        self._client.close(seconds)


def _client() -> Sender:
    return _ClientSender()


def _not_ours(record: logging.LogRecord) -> bool:
    return record.threadName != _THREAD


def _count(number: int) -> str:
    return f"{number:,} event{'' if number == 1 else 's'}"
