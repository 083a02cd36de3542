"""Wakes whoever waits in the event loop for a change that another thread has made."""

from __future__ import annotations

import asyncio
import threading


class Bell:
    """Rings for all who wait. What rings while nobody waits is not lost: they look before they wait."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._lock = threading.Lock()

    def ring(self) -> None:
        """Wake everybody. Any thread may call it."""
        with self._lock:
            for event, loop in self._waiting.items():
                if not loop.is_closed():
                    loop.call_soon_threadsafe(event.set)

    def join(self) -> asyncio.Event:
        """Return an event that is set by every ring from now on."""
        event = asyncio.Event()
        with self._lock:
            self._waiting[event] = asyncio.get_running_loop()
        return event

    def leave(self, event: asyncio.Event) -> None:
        """Let an event go."""
        with self._lock:
            self._waiting.pop(event, None)

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)
