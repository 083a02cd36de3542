"""Server-sent events of one output: first what there is, then what changes, at the pace of whoever listens.

Nobody is owed a queue. A listener has the number of the last change that was sent, and is sent what changed since: each
key once, with its newest value. One who is slow, or was away, gets less of what came in between and ends up with the
same values.
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
"""So that proxies keep the connection, and an end is noticed."""
LEAST_PAUSE = 0.1
"""Between two events: a burst is one event."""


async def events(
    live: Live, last: str, most: int, wanted: Mapping[str, str], listening: AbstractContextManager[None]
) -> AsyncIterator[bytes]:
    """Yield events until whoever listens has gone, or the output is served no more.

    Args:
        live: the output.
        last: id of the last event that is known; empty for whoever comes anew.
        most: values in the first event.
        wanted: texts by column that a value must have.
        listening: counts the listener.
    """
    values, origin = live.follower.values, _origin(live)
    with listening:
        woken = live.changes.subscribe()
        try:
            number = _number(last, origin)
            anew, trouble = number is None, None
            while True:
                woken.clear()
                if trouble != live.follower.condition.trouble:
                    trouble = live.follower.condition.trouble
                    yield _event("condition", "", {"trouble": trouble})
                changes = values.since(number or 0, most if anew else None)
                if anew or not changes.complete:
                    whole = changes if anew else values.since(0, most)
                    yield _event("reset", f"{origin}-{whole.number}", _as_json(whole, wanted))
                    number, anew = whole.number, False
                elif changes.number != number:
                    number = changes.number
                    if told := _as_json(changes, wanted):
                        yield _event("change", f"{origin}-{number}", told)
                if live.follower.ended:
                    yield _event("end", "", {})
                    return
                if not await _woken(woken):
                    yield b": still here\n\n"
        finally:
            live.changes.unsubscribe(woken)


async def _woken(woken: asyncio.Event) -> bool:
    """Wait until something is new, and a little longer so that changes come together; False if nothing was."""
    try:
        await asyncio.wait_for(woken.wait(), HEARTBEAT_SECONDS)
    except TimeoutError:
        return False
    await asyncio.sleep(LEAST_PAUSE)
    return True


def _as_json(changes: Changes, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Return what has changed, without what is not wanted; empty if nothing is left.

    Who wants a part is told that a key is gone also where its value has ceased to be in that part.
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


def _event(name: str, event_id: str, data: Mapping[str, Any]) -> bytes:
    head = f"id: {event_id}\n" if event_id else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def _origin(live: Live) -> str:
    """Name this count of changes: another process, or a follower that was made anew, counts again from 1."""
    return f"{id(live.follower):x}{int(live.follower.begun.timestamp() * 1000):x}"


def _number(last: str, origin: str) -> int | None:
    before, _, number = last.rpartition("-")
    return int(number) if before == origin and number.isdecimal() else None
