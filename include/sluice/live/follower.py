"""Follows one output: reads its source in a thread of its own, keeps the newest values, and watches the rules.

A source that fails is opened again, after growing pauses; the values read before stay, with a note since when nothing
was read. A newly opened source sends everything again. Rules judge the newest values once that is read, and each row
from then on: what lasts is not missed, and what is over by then is no news.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from sluice.clock import Clock
from sluice.live.rules import RuleEvent, RuleWatch
from sluice.live.source import LiveSource, SourceRead
from sluice.live.values import LiveValues

log = logging.getLogger(__name__)

READ_SECONDS = 0.5
_SHORTEST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


@dataclass
class FollowerState:
    """The state of a follower.

    Attributes:
        trouble: why nothing is read; empty while all is well.
        since: since when that is so (UTC); None before the first read.
        read_at: when something was last read, or found to be unchanged (UTC).
        unreadable: records that were no rows.
        caught_up: whether all has been read that there was when the source was opened.
    """

    trouble: str = "it was not read yet"
    since: datetime | None = None
    read_at: datetime | None = None
    unreadable: int = 0
    caught_up: bool = False


@dataclass
class Follower:
    """Follows one output.

    Attributes:
        name: of the output.
        open_source: opens its source.
        values: the newest values.
        rules: those about the output.
        notify: takes transitions of rules; it must not block.
        wake: is called after every change.
        clock: gives the time.
    """

    name: str
    open_source: Callable[[], LiveSource]
    values: LiveValues
    rules: RuleWatch
    notify: Callable[[RuleEvent], None]
    wake: Callable[[], None]
    clock: Clock
    condition: FollowerState = field(default_factory=FollowerState)

    def __post_init__(self) -> None:
        self.begun = self.clock.now()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"sluice-live-{self.name}", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether it was stopped."""
        return self._stopped.is_set()

    def stop(self, seconds: float = 10.0) -> None:
        """Stop, and wait for it for a while."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _follow(self) -> None:
        pause = _SHORTEST_PAUSE
        while not self._stopped.is_set():
            try:
                source = self.open_source()
                self.condition.caught_up = False
                try:
                    while not self._stopped.is_set():
                        self.take(source.read(READ_SECONDS))
                        pause = _SHORTEST_PAUSE
                finally:
                    source.close()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again
                self._in_trouble(str(error) or type(error).__name__)
                self._stopped.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def take(self, batch: SourceRead) -> None:
        """Take in what was read."""
        now = self.clock.now()
        if self.condition.trouble and self.condition.since is not None:
            log.info("%s is read again.", self.name)
        self.condition.trouble, self.condition.since, self.condition.read_at = "", None, now
        self.condition.unreadable += batch.unreadable
        before, held = self.values.number, self.values.keys_held() if batch.whole else frozenset()
        seen = set()
        for row in batch.rows:
            try:
                seen.add(self.values.key_of(row.fields))
                value = self.values.put(row.fields, row.at or now)
            except KeyError:
                self.condition.unreadable += 1
                continue
            if value is not None and self.condition.caught_up:
                self._notify(self.rules.changed(value, now))
        for key in held - seen:
            self.values.remove(key)
            self._notify(self.rules.gone(key, now))
        if batch.caught_up and not self.condition.caught_up:
            self.condition.caught_up = True
            self._notify(self.rules.found(self.values.since(0).values, now))
            if not batch.partial and not self.values.forgotten:  # else a key that is not held may have a value
                self._notify(self.rules.complete(self.values.keys_held(), now))
        if self.values.number != before:
            self.wake()

    def _notify(self, events: Iterable[RuleEvent]) -> None:
        for event in events:
            self.notify(event)

    def _in_trouble(self, why: str) -> None:
        if not self.condition.trouble or self.condition.since is None:
            self.condition.since = self.clock.now()
            log.warning("%s cannot be read: %s", self.name, why)
        self.condition.trouble = why
        self.wake()
