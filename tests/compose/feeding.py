"""Flights that keep coming, day after day, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from threading import Event, Thread

from tests.compose.containers import Containers, ContainersError

RATE = 25
_DAY_SECONDS = 240.0
_PAUSE_SECONDS = 2.0


class Feeding:
    """Sends one day after the other by `sluice feed send`; what is interrupted is repeated until it is sent."""

    def __init__(self, containers: Containers, next_day: date) -> None:
        self._containers = containers
        self._next_day = next_day
        self._ending = Event()
        self.last_day = next_day
        self.interrupted = 0
        self.failure = ""

    def _run(self) -> None:
        while not self._ending.is_set():
            self.last_day = self._next_day
            try:
                self._send(self._next_day.isoformat())
            except ContainersError as error:
                self.interrupted, self.failure = self.interrupted + 1, str(error)
                self._ending.wait(_PAUSE_SECONDS)
            else:
                self._next_day += timedelta(days=1)

    def _send(self, day: str) -> None:
        days = ("--from", day, "--to", day)
        command = ("sluice", "feed", "send", "flights", *days, "--rate", str(RATE), "--no-heartbeat")
        self._containers.run("runner", *command, deadline=_DAY_SECONDS)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Send until the block ends; the day that is being sent then is finished by whoever closes the range."""
        thread = Thread(target=self._run, name="feeding")
        thread.start()
        try:
            yield
        finally:
            self._ending.set()
            thread.join()


def send_with_heartbeat(containers: Containers, first: date, last: date) -> None:
    """Send what is not sent of a range, and close its last interval."""
    days = ("--from", first.isoformat(), "--to", last.isoformat())
    containers.run("runner", "sluice", "feed", "send", "flights", *days, deadline=300)
