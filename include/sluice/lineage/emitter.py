"""Sends events from a thread of its own, so that no stream or batch waits for the collector.

Invariants:
* an offer returns at once, even if the transport blocks: a full queue drops it;
* events that were dropped or could not be sent are counted; the first of an outage is logged, and the recovery;
* without a configured transport there is no emitter, and OpenLineage's client is not even imported.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, Protocol, TypeAlias

from sluice.alerts.redaction import Redaction
from sluice.settings import environment, lineage_configured, lineage_file

if TYPE_CHECKING:
    from openlineage.client.event_v2 import RunEvent as RunEvent  # noqa: PLC0414 - exported: other rooms do not know the library

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Offers that wait, a kilobyte each. Expendable offers use at most half of the places."""
_THREAD = "sluice-lineage"

MakeEvents: TypeAlias = "Callable[[], Iterable[RunEvent]]"
"""Makes events in the thread that sends them, so it may read files and import the client."""


class Lineage(Protocol):
    """Takes events for the collector. Its method returns at once, and raises nothing."""

    def offer(self, make: MakeEvents, *, expendable: bool = False) -> None:
        """Have events made and sent later, in another thread, or drop them.

        Args:
            make: makes them; it may block, and it may raise.
            expendable: whether these are dropped first, because others like them follow.
        """
        ...


class Sender(Protocol):
    """Sends events, as OpenLineage's client does. Both methods block, and may raise anything."""

    def emit(self, event: RunEvent) -> None:
        """Send one event."""
        ...

    def close(self, timeout: float) -> object:
        """Send what the transport still holds, for so many seconds at most."""
        ...


class Emitter:
    """Implements `Lineage`.

    Args:
        connect: returns the sender; called in the thread, and again after it failed.
        most: how many offers may wait.
    """

    def __init__(self, connect: Callable[[], Sender], *, most: int = MAX_WAITING) -> None:
        self._connect = connect
        self._queue: Queue[MakeEvents | None] = Queue(most)
        self._expendable = most // 2
        self._sender: Sender | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failing = False
        self._patience = 0.0
        self.dropped = 0
        """Events that were lost; an offer that was never made into events counts as one."""

    def offer(self, make: MakeEvents, *, expendable: bool = False) -> None:
        """Have events made and sent soon, or drop them."""
        with self._lock:
            if self._thread is None:  # it ends with the process: a service that never answers must not keep that alive
                self._thread = threading.Thread(target=self._work, name=_THREAD, daemon=True)
                self._thread.start()
        if expendable and self._queue.qsize() >= self._expendable:
            self._lost("too many wait to be sent")
            return
        try:
            self._queue.put_nowait(make)
        except Full:
            self._lost("too many wait to be sent")

    def close(self, seconds: float) -> None:
        """Wait until all is sent, but no longer than this; then log how much was not. Raises nothing."""
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
        """Drop the queue and the event that is being sent, and return how many that were."""
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
        # It would log each of six tries, for each event.
        logging.getLogger("urllib3.connectionpool").addFilter(lambda record: record.threadName != _THREAD)
        while (make := self._queue.get()) is not None:
            try:
                events = list(make())
            except Exception as error:  # noqa: BLE001 - the other offers can still be made
                self._lost(f"it could not be made: {type(error).__name__}: {error}")
                continue
            for event in events:
                self._send(event)
        try:
            if self._sender is not None:
                self._sender.close(self._patience)
        except Exception as error:  # noqa: BLE001 - a transport
            self._lost(f"{type(error).__name__}: {error}")

    def _send(self, event: RunEvent) -> None:
        try:
            if self._sender is None:
                self._sender = self._connect()
            self._sender.emit(event)
        except Exception as error:  # noqa: BLE001 - a transport may raise anything
            self._lost(f"{type(error).__name__}: {error}")
            return
        with self._lock:
            over, self._failing = self._failing, False
        if over:
            log.info("Lineage is sent again. %s were lost so far.", _count(self.dropped))

    def _lost(self, why: str) -> None:
        with self._lock:
            self.dropped += 1
            first, self._failing = not self._failing, True
        if first:
            why = Redaction.of_environment(environment())(why)  # a transport quotes its address
            log.warning(
                "An event of lineage was dropped, %d so far; further ones are only counted. %s", self.dropped, why
            )


def lineage() -> Emitter | None:
    """Return an emitter; None where no transport is configured."""

    def client() -> Sender:
        from sluice.lineage.client import connect  # noqa: PLC0415 - only where lineage is configured

        return connect(lineage_file())

    return Emitter(client) if lineage_configured() else None


def _count(number: int) -> str:
    return f"{number:,} event{'' if number == 1 else 's'}"
