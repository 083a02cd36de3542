"""Entries of a settler, as the tests of ledgers need them: its pipeline reads one topic."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sluice.intervals.entries import Content, ExaminedSource, LossyRange, SettleEntry
from sluice.intervals.reach import topic_name

SETTLER = "settle:departures"


def settlement(
    since: datetime | None,
    until: datetime | None,
    wrote: Mapping[datetime, int] | None = None,
    *,
    read: Mapping[str, int],
    topics: tuple[str, ...] = (),
    code: str = "",
    generation: int = 1,
    overtaken: Mapping[datetime, Mapping[str, int]] | None = None,
    lossy: tuple[LossyRange, ...] = (),
) -> SettleEntry:
    """Return the entry of a commit that settles `[since, until)`.

    Args:
        since: start of the first interval.
        until: end of the last one; the same as `since`, or both None, if it settles none.
        wrote: how many rows each interval has that has any, by its start.
        read: next offsets of what was examined.
        topics: ids of the topics that they belong to.
        code: hash of the code that computed them.
        generation: the attempt that wrote it.
        overtaken: settled intervals that lack records on time, with the next offsets behind those.
        lossy: see `SettleEntry`.
    """
    return SettleEntry(
        writer=SETTLER,
        generation=generation,
        nonce=f"until {until}",
        since=since,
        settled_until=until,
        sources={topic_name(next(iter(read), "")): ExaminedSource(read, topics)},
        content={start: content_of(rows) for start, rows in (wrote or {}).items()},
        overtaken=overtaken or {},
        lossy=lossy,
        code=code,
    )


def lacking(
    until: datetime | None,
    *starts: datetime,
    read: Mapping[str, int],
    topics: tuple[str, ...] = (),
    generation: int = 1,
) -> SettleEntry:
    """Return the entry of a commit that settles nothing: it has found records on time of settled intervals.

    Args:
        until: how far the table is settled.
        starts: of the intervals.
        read: next offsets of what was examined: right behind these records.
        topics: see `settlement`.
        generation: see `settlement`.
    """
    marks = dict.fromkeys(starts, read)
    return settlement(until, until, read=read, topics=topics, generation=generation, overtaken=marks)


def content_of(rows: int) -> Content:
    """Return what an interval with so many rows holds."""
    return Content(rows, str(7 * rows))
