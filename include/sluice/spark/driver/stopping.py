"""The request to stop that a driver is sent as a signal."""

from __future__ import annotations

import signal
from types import FrameType


class StopRequest:
    """Whether a stop was requested. It listens before a session starts, because a request may come in those seconds."""

    def __init__(self) -> None:
        self.asked = False

    def listen(self) -> None:
        """Take SIGTERM and SIGINT to be requests from now on. It may be repeated: a session takes SIGINT for itself."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.ask)

    def ask(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        """Signal handler: only sets a flag, because calling Spark from a handler breaks its gateway."""
        self.asked = True
