"""A former version, which appended to the table batch by batch and closed intervals by a watermark; of one topic."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sluice.intervals.entries import Content, StreamEntry
from sluice.intervals.reach import Reach
from tests.simulation.settling.source import bounds_of
from tests.simulation.settling.world import World

APPENDER = "flights:flights0:0"


def append_history(world: World) -> None:
    """Let a former version have appended to the table: whole intervals, and a part of the one after them."""
    (inflow,) = world.inflows
    ends = inflow.topic.ends()
    world.appended = [record for log in inflow.topic.logs for record in log]
    for record in world.appended:
        world.known_before.add(record)
    on_time = [record for record in world.appended if record.is_on_time(inflow.rules)]
    if not on_time:
        return
    first = inflow.rules.complete_until(min(record.event for record in on_time) + inflow.rules.margin)
    closed = inflow.rules.complete_until(inflow.time)
    if closed <= first:
        return
    spans = [first + n * inflow.rules.length for n in range((closed - first) // inflow.rules.length + 1)]
    rows = {start: world.known_before.rows(start, bounds_of(ends)) for start in spans}
    rows[closed] = rows[closed][:1]
    _stream(world, rows, ends, closed)


def append_again(world: World, snapshot: int) -> None:
    """Let a driver of the former version that slept write to the interval that it has open.

    Args:
        world: in which it happens.
        snapshot: how many commits there were when it looked at the table, its mark included.
    """
    last = next((c.logged.entry for c in world.store.commits[:snapshot]), None)
    if not isinstance(last, StreamEntry) or last.closed_until is None:
        return
    world.stand("former version writes")
    if any(APPENDER in commit.transactions for commit in world.store.commits[snapshot:]):
        world.say("former version: conflict")
        return
    _stream(world, {last.closed_until: [("flights0", 0, 10_000)]}, Reach(last.end), last.closed_until)
    world.say("former version: wrote")


def _stream(world: World, rows: dict[datetime, list[Any]], ends: Reach, closed: datetime) -> None:
    content = {start: Content(len(ids), str(sum(map(hash, ids)))) for start, ids in rows.items() if ids}
    entry = StreamEntry(APPENDER, 1, "l", 1, {}, ends.offsets, watermark=closed, closed_until=closed, content=content)
    world.store.commit(entry, transactions=frozenset({APPENDER}))
    world.store.put({start: ids for start, ids in rows.items() if ids})
