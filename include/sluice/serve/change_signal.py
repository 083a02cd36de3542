"""Wakes tasks of the event loop after a change in another thread."""

from __future__ import annotations

import asyncio
import threading


class ChangeSignal:
    """Notifies all subscribers. No change is lost between two waits: subscribers check before they wait."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._lock = threading.Lock()

    def notify_all(self) -> None:
        """Wake all subscribers. Any thread may call it."""
        with self._lock:
            for event, loop in self._waiting.items():
                if not loop.is_closed():
                    loop.call_soon_threadsafe(event.set)

    def subscribe(self, event: asyncio.Event | None = None) -> asyncio.Event:
        """Return an event that is set by every change from now on: a given one, which may be set by others too."""
        event = event or asyncio.Event()
        with self._lock:
            self._waiting[event] = asyncio.get_running_loop()
        return event

    def unsubscribe(self, event: asyncio.Event) -> None:
        """Forget an event."""
        with self._lock:
            self._waiting.pop(event, None)

    def __len__(self) -> int:
        """Return the number of subscribers."""
        return len(self._waiting)
