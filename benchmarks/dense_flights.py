"""Flights many times over: every flight in its own minute, each copy under another `flight_id`.

The same hours with many times the traffic. Beside every 200th flight stands one broken record (six kinds in turn), so
that a program that does not validate comes to other results.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from sluice.feeds.heartbeat import heartbeat_value
from sluice.feeds.record import FeedRecord, encode, format_instant
from sluice.specs.model.model import TopicSpec

ID = '{"flight_id":'
"""How every value begins, but the heartbeat's."""
BROKEN_EVERY = 200
BROKEN_AS = ("malformed", "wrong_type", "missing_field", "out_of_range", "not_allowed", "future")
"""Why validation must refuse the kinds of `broken`, in turn."""


def lines(records: Iterable[FeedRecord], topic: TopicSpec, closing: datetime) -> Iterator[dict[str, Any]]:
    """Yield the rows of `_SCHEMA` in order of arrival: flights, broken records among them, a heartbeat at the end."""
    counts: dict[int, int] = {}

    def line(key: bytes, text: str, arrival: datetime) -> dict[str, Any]:
        partition = zlib.crc32(key) % topic.partitions
        index = counts[partition] = counts.get(partition, -1) + 1
        number, comma, rest = text.removeprefix(ID).partition(",")
        known = text.startswith(ID)
        found = {"number": int(number), "rest": comma + rest} if known else {"number": None, "rest": text}
        return {"partition": partition, "index": index, "key": key, "arrival": arrival, **found}

    for position, record in enumerate(records):
        yield line(record.key, encode(record.value).decode(), record.arrival)
        if position % BROKEN_EVERY == 0:
            yield line(record.key, broken(record, position // BROKEN_EVERY), record.arrival)
    yield line(b"", encode(heartbeat_value(topic.value, closing)).decode(), closing)


def value_of(line: Mapping[str, Any], shift: int) -> bytes:
    """Return a row's value under a `flight_id` that is `shift` higher; what Spark does in `records`."""
    number, rest = line["number"], line["rest"]
    return (rest if number is None else f"{ID}{number + shift}{rest}").encode()


def broken(record: FeedRecord, kind: int) -> str:
    """Return a record that validation must refuse: six kinds in turn."""
    value, text = dict(record.value), encode(record.value).decode()
    future = format_instant(record.arrival + timedelta(hours=2))
    kinds = [
        text[: len(text) // 2],
        json.dumps({**value, "flight": "seven"}, separators=(",", ":")),
        json.dumps({k: v for k, v in value.items() if k != "dest"}, separators=(",", ":")),
        json.dumps({**value, "dep_delay_min": 99_999}, separators=(",", ":")),
        json.dumps({**value, "origin": "BOS"}, separators=(",", ":")),
        json.dumps({**value, "scheduled_at": future}, separators=(",", ":")),
    ]
    return kinds[kind % len(kinds)]
