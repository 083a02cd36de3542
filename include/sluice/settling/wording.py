"""What a settler waits for, in words for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import ceil

from sluice.settling.status import HeldAdvance, SettlingStatus
from sluice.specs.model.duration import format_duration
from sluice.wording import counted, listed, span

_PARTITIONS_NAMED = 4


def settling_lines(status: SettlingStatus, pipeline: str) -> Iterator[str]:
    """Yield where a settler stands, one sentence each: how far, what is due and what holds it, what comes next."""
    known = f"no arrival time{_of(status)} is known"
    if status.newest is not None:
        known = f"arrival times{_of(status)} have reached {_second(status.newest)}"
    if status.silence:
        quiet = span(status.silence / timedelta(seconds=1))
        known += (
            f"; nothing was appended for {quiet}, so {_second((status.newest or status.at) + status.silence)} counts"
        )
    elif status.complete is not None and status.complete != status.newest:
        known += f", and every partition has passed {_second(status.complete)}"
    yield f"{_capital(progress_text(status))}; {known}."
    if status.due:
        since = "" if status.due_since is None else f"; none of them was settled since {_second(status.due_since)}"
        yield f"{_capital(due_text(status))}{since}: {holds_text(status)}."
    if status.next_at is not None:
        reached = f"arrival times{_of(status)} reach {_second(status.next_at)}"
        yield f"The next interval is complete when {reached}{_or_silence(status)}."
    if status.advance is not None:
        yield f"{advance_text(status.advance)} See `{advance_command(pipeline)}`."
    if status.exceeds_disorder:
        yield disorder_text(status)
    elif status.newest is not None:
        declared = format_duration(status.declared_disorder)
        yield f"The greatest disorder of arrival times was {_rounded(status.disorder)}; {declared} declared."


def progress_text(status: SettlingStatus) -> str:
    """Return how far a table is settled, as a clause."""
    until = status.settled_until
    return "nothing is settled yet" if until is None else f"settled until {_minute(until)} UTC"


def due_text(status: SettlingStatus) -> str:
    """Return how many intervals are due, from when on, and for how long by arrival times, as a clause."""
    verb = "is" if status.due == 1 else "are"
    overdue = span(status.overdue / timedelta(seconds=1))
    since = "" if status.oldest_due is None else f", from {_minute(status.oldest_due)} UTC on, the oldest by {overdue}"
    return f"{counted(status.due, 'interval')} {verb} due{since}"


def holds_text(status: SettlingStatus) -> str:
    """Return what keeps due intervals from being settled, as a clause."""
    if not status.unread:
        return "what delays them is known after its next batch" if status.complete is None else "they are at work"
    return f"records of {listed(status.unread, _PARTITIONS_NAMED, 'partitions')} are unread"


def next_text(status: SettlingStatus) -> str:
    """Return what the next interval waits for, as a clause; empty if that is not known."""
    if status.next_at is None:
        return ""
    newest = "" if status.newest is None else f" (the newest is of {_second(status.newest)})"
    arrival = f"an arrival{_of(status)} at {_second(status.next_at)} or later"
    return f"the next interval waits for {arrival}{newest}{_or_silence(status)}"


def advance_text(advance: HeldAdvance) -> str:
    """Return which arrival times do not count, as a sentence."""
    return (
        f"Arrival times from {_second(advance.first)} on ({advance.partition}) lie further ahead than "
        "`max_advance`, and nothing bears them out: what they would complete is not settled."
    )


def advance_command(pipeline: str) -> str:
    """Return the command that shows such arrival times and decides about them."""
    return f"sluice intervals advance {pipeline}"


def disorder_text(status: SettlingStatus) -> str:
    """Return what the spec should say of a topic in greater disorder than it declares, as a sentence."""
    measured = _rounded(status.disorder)
    return (
        f"Arrival times lay up to {measured} below the greatest before them, and the spec declares an arrival_disorder "
        f"of {format_duration(status.declared_disorder)}: write `arrival_disorder: {measured}` under `time`, otherwise "
        "intervals are settled before all their records are there."
    )


def _of(status: SettlingStatus) -> str:
    return f" of {status.topic}" if status.topic else ""


def _or_silence(status: SettlingStatus) -> str:
    length = status.next_silence
    return "" if length is None else f", or when nothing has arrived for {span(length / timedelta(seconds=1))}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def _second(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _capital(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}"


def _rounded(length: timedelta) -> str:
    """Return a length as a spec can declare it, no shorter than it is."""
    seconds = ceil(length / timedelta(seconds=1))
    return format_duration(timedelta(seconds=seconds if seconds <= _FINE_SECONDS else 60 * ceil(seconds / 60)))


_FINE_SECONDS = 120
"""What is longer is given in minutes."""
