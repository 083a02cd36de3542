"""Server-sent events of one output: first the present values, then changes, at the pace of the client.

Nothing is queued for a client. It has the number of the last change that was sent, and gets what changed since: each
key once, with its newest value. A slow client, or one that was away, skips intermediate updates and ends with the same
values.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from sluice.live.values import Changes, Value, as_text
from sluice.serve.hub import Live

HEARTBEAT_SECONDS = 15.0
"""Keeps proxies from closing the connection, and shows when a client has gone."""
MIN_PAUSE = 0.1
"""Between two events: a burst is one event."""


async def events(
    live: Live, last: str, most: int, wanted: Mapping[str, str], listening: AbstractContextManager[None]
) -> AsyncIterator[bytes]:
    """Yield events until the client disconnects, or the output is no longer served.

    Args:
        live: the output.
        last: id of the last event that the client has; empty for a new client.
        most: values in the first event.
        wanted: texts by column that a value must have.
        listening: counts the client.
    """
    values, origin = live.follower.values, _origin(live)
    with listening:
        woken = live.changes.subscribe()
        try:
            number = number_in(last, origin)
            fresh, trouble = number is None, None
            while True:
                woken.clear()
                if trouble != live.follower.condition.trouble:
                    trouble = live.follower.condition.trouble
                    yield sse_event("condition", "", {"trouble": trouble})
                changes = values.since(number or 0, most if fresh else None)
                if fresh or not changes.complete:
                    whole = changes if fresh else values.since(0, most)
                    yield sse_event("reset", f"{origin}-{whole.number}", _as_json(whole, wanted))
                    number, fresh = whole.number, False
                elif changes.number != number:
                    number = changes.number
                    if update := _as_json(changes, wanted):
                        yield sse_event("change", f"{origin}-{number}", update)
                if live.follower.ended:
                    yield sse_event("end", "", {})
                    return
                if not await woken_in_time(woken):
                    yield b": still here\n\n"
        finally:
            live.changes.unsubscribe(woken)


async def woken_in_time(woken: asyncio.Event) -> bool:
    """Wait for a change, and a little longer to collect further ones; return False if none came."""
    try:
        await asyncio.wait_for(woken.wait(), HEARTBEAT_SECONDS)
    except TimeoutError:
        return False
    await asyncio.sleep(MIN_PAUSE)
    return True


def _as_json(changes: Changes, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Return the changes that match a filter; empty if none is left.

    A key whose value no longer matches counts as gone.
    """
    values = [value for value in changes.values if _fits(value, wanted)]
    gone = [list(key) for key in changes.gone]
    gone += [list(value.key) for value in changes.values if not _fits(value, wanted)]
    if not values and not gone and changes.complete and changes.values:
        return {}
    rows = [{"key": list(v.key), "at": v.at.isoformat(), "fields": dict(v.fields)} for v in values]
    return {"values": rows, "gone": gone}


def _fits(value: Value, wanted: Mapping[str, str]) -> bool:
    return all(column in value.fields and as_text(value.fields[column]) == text for column, text in wanted.items())


def sse_event(name: str, event_id: str, data: Mapping[str, Any]) -> bytes:
    """Return a server-sent event with a JSON object as its data; without an id if that is empty."""
    head = f"id: {event_id}\n" if event_id else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def _origin(live: Live) -> str:
    """Name this count of changes: another process, or a replaced follower, counts from 1 again."""
    return f"{id(live.follower):x}{int(live.follower.begun.timestamp() * 1000):x}"


def number_in(last: str, origin: str) -> int | None:
    """Return the number in the id of an event; None of an id with another origin."""
    before, _, number = last.rpartition("-")
    return int(number) if before == origin and number.isdecimal() else None
