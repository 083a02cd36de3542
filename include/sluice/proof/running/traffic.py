"""The traffic of a proof: a thread that sends at a declared rate until it is told to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread

from sluice.proof.generation.made import MadeRecord
from sluice.proof.running.sending import ProofSender

_TICK_SECONDS = 0.05


class Traffic:
    """Sends record after record, each when it is due.

    Args:
        sender: only this thread uses it while it runs.
        record: the record with a number, and the topic that it belongs to.
        rate: records per second.
        most: how many at most.
    """

    def __init__(
        self, sender: ProofSender, record: Callable[[int], tuple[str, MadeRecord]], rate: float, most: int
    ) -> None:
        self._sender, self._record, self._rate, self._most = sender, record, rate, most
        self._stop = Event()
        self._failure: Exception | None = None
        self._thread = Thread(target=self._run, daemon=True)
        self._begun, self._sent = 0.0, 0

    def start(self) -> None:
        """Begin to send."""
        self._begun = time.monotonic()
        self._thread.start()

    @property
    def seconds(self) -> float:
        """How long it has been sending."""
        return time.monotonic() - self._begun

    @property
    def is_over(self) -> bool:
        """Whether all was sent that may be sent."""
        return self._sent >= self._most

    def refuse_failed(self) -> None:
        """Raise what has ended the thread, if something has."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End it, and wait for every answer."""
        self._stop.set()
        if self._thread.is_alive() or self._begun:
            self._thread.join()
        self.refuse_failed()

    def _run(self) -> None:
        try:
            while not self._stop.wait(_TICK_SECONDS):
                due = min(self._most, int(self.seconds * self._rate) + 1)
                while self._sent < due:
                    self._sender.send(*self._record(self._sent))
                    self._sent += 1
                self._sender.collect()
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            self._failure = error
