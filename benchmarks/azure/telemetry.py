"""Telemetry as Azure's samples of streaming at scale simulate it: nested JSON of 1 KB, some of it sent twice.

An event is a function of its number alone, so that a reader knows when it was created. It is made by
filling in a text that was serialised before, because the generator shares two cores with what it measures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from random import Random
from typing import NamedTuple

DEVICES = 999
DOUBLES = 23
REPEATED_EVERY = 1_000
TYPES = ("TEMP", "CO2")
_TEMPLATES = 64
_ID = b"%08x-0000-4000-8000-%012x"


class Event(NamedTuple):
    """A record of the topic: the device is its key."""

    key: bytes
    value: bytes


class Telemetry:
    """The events of one run, by their numbers from 0.

    Args:
        begin: when the first one is created, in milliseconds since 1970.
        rate: events per second.
        run: 32 bits that tell its ids from those of another run.
    """

    def __init__(self, begin: int, rate: int, run: int = 1) -> None:
        self._begin, self._rate, self._run = begin, rate, run
        draw = Random(run)  # noqa: S311 - nothing to keep secret
        self._templates = [_template(draw, TYPES[number % len(TYPES)]) for number in range(_TEMPLATES)]
        self._keys = keys()

    def event(self, number: int) -> Event:
        """Return an event: always the same."""
        sequence, device = divmod(number, DEVICES)
        key = self._keys[device]
        created = _instant(self.created(number))
        identity = _ID % (self._run, number)
        return Event(key, self._templates[number % _TEMPLATES] % (identity, key, sequence, created))

    def created(self, number: int) -> int:
        """Return when an event is created, in milliseconds since 1970."""
        return self._begin + number * 1_000 // self._rate

    def number_of(self, identity: str) -> int | None:
        """Return the number of the event that has an id; None if it is of another run."""
        run, number = int(identity[:8], 16), int(identity[-12:], 16)
        return number if run == self._run else None


def keys() -> list[bytes]:
    """Return the ids of all devices."""
    return [b"contoso-device-id-%06d" % device for device in range(1, DEVICES + 1)]


def sending_order(count: int, within: int, *, every: int = REPEATED_EVERY, seed: int = 1) -> Iterator[int]:
    """Yield the numbers of events in the order in which they are sent: each once, and some of them once more.

    Args:
        count: how many events.
        within: how many events a repetition comes later, at most.
        every: one of so many is repeated.
        seed: of the distances.
    """
    draw, again = Random(seed), dict[int, list[int]]()  # noqa: S311 - nothing to keep secret
    for number in range(count):
        yield number
        if number % every == 0:
            again.setdefault(number + draw.randrange(within), []).append(number)
        yield from again.pop(number, ())
    for numbers in again.values():
        yield from numbers


def _template(draw: Random, kind: str) -> bytes:
    """Return the text of an event with places for id, device, sequence number and time."""
    complex_data = json.dumps({f"moreData{number}": draw.random() for number in range(1, DOUBLES + 1)})
    text = (
        f'{{"eventId": "%b", "complexData": {complex_data}, "value": {draw.random()!r}, "deviceId": "%b", '
        f'"deviceSequenceNumber": %d, "type": "{kind}", "createdAt": "%b"}}'
    )
    return text.encode()


@lru_cache(maxsize=8192)
def _instant(milliseconds: int) -> bytes:
    moment = datetime.fromtimestamp(milliseconds / 1_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()
