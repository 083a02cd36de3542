"""The attempts of a unit as a person reads them, newest first, and what comes next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sluice.streams.life.attempts import Attempt
from sluice.streams.life.claim import Adopt, Refuse, Resume, Start, Wait, decide
from sluice.streams.life.ending import as_ended
from sluice.streams.life.governor import Go, class_of, lived
from sluice.streams.life.status import UnitStatus

SHOWN = 10
"""How many attempts are shown where the user did not ask for all of them."""


@dataclass(frozen=True)
class Entry:
    """One attempt.

    Attributes:
        attempt: what is on record, or would be if a death that is proven were.
        lived: how long it has lived so far, or did.
        failure: the class of its end; empty before it.
        log: the file with its output.
        spark_ui: the address of its Spark UI, while it lives and once it has told it.
    """

    attempt: Attempt
    lived: timedelta
    failure: str
    log: Path
    spark_ui: str | None = None

    @property
    def started_at(self) -> datetime:
        """When its driver was confirmed, or else reserved (UTC)."""
        return self.attempt.bound_at or self.attempt.intended_at

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON: the record, and what is added here."""
        added = {"lived_seconds": self.lived.total_seconds(), "log": str(self.log), "spark_ui": self.spark_ui}
        return {**asdict(self.attempt), "failure": self.failure, **added}

    def __str__(self) -> str:
        """Return it as one line."""
        attempt, ended_at = self.attempt, self.attempt.ended_at
        ended = attempt.state.value
        if ended_at is not None:
            ended = f"ended {ended_at:%Y-%m-%d %H:%M:%S}, {self.failure}: {attempt.reason}"
        address = f" Spark UI: {self.spark_ui}" if self.spark_ui else ""
        started = f"started {self.started_at:%Y-%m-%d %H:%M:%S} UTC, lived {duration_text(self.lived)}"
        return f"Generation {attempt.generation}: {started}, {ended}. Log: {self.log}{address}"


@dataclass(frozen=True)
class Timeline:
    """What was tried, newest first.

    Attributes:
        entries: the attempts.
        next: what comes next, as a clause; empty while a driver lives.
        halted: why no attempt starts until a person asks for it; empty if that is not so.
    """

    entries: Sequence[Entry]
    next: str
    halted: str

    def lines(self, most: int = SHOWN) -> Iterator[str]:
        """Yield it as text, with at most so many attempts."""
        yield from map(str, self.entries[:most])
        if len(self.entries) > most:
            yield f"... and {len(self.entries) - most} earlier attempts"
        if self.next:
            yield f"Next: {self.next}"


def timeline(
    status: UnitStatus,
    attempts: Sequence[Attempt],
    *,
    now: datetime,
    log: Callable[[str], Path],
    spark_ui: str | None = None,
) -> Timeline:
    """Put together what is known of a unit's attempts."""
    latest = None if status.attempt is None else status.attempt.generation
    entries = []
    for attempt in attempts:
        known = as_ended(attempt, status.report, now) if attempt.generation == latest else attempt
        entries.append(_entry(known, now, log(attempt.key), spark_ui))
    return Timeline(entries, _next(status, now), status.halted(now))


def _entry(attempt: Attempt, now: datetime, log: Path, spark_ui: str | None) -> Entry:
    if attempt.ended_at is not None:
        return Entry(attempt, lived(attempt), class_of(attempt).value, log)
    so_far = max(timedelta(0), now - (attempt.bound_at or attempt.intended_at))
    return Entry(attempt, so_far, "", log, spark_ui)


def _next(status: UnitStatus, now: datetime) -> str:
    decision = decide(status.desired, status.attempt, status.report)
    match decision:
        case Adopt():
            return ""
        case Wait() | Refuse():
            return decision.why
        case Resume() if status.shortage:
            return f"the reconciler submits it as soon as there is capacity: {status.shortage}"
        case Resume():
            return f"the reconciler submits it, because {decision.why}"
        case Start():
            outlook = status.outlook(now)
            return "the reconciler starts the next generation" if isinstance(outlook, Go) else str(outlook)


def duration_text(duration: timedelta) -> str:
    """Return a duration in the two units that matter, such as `2 h 05 min`."""
    seconds = int(duration.total_seconds())
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60:02} min"
    return f"{minutes} min {seconds % 60:02} s" if minutes else f"{seconds} s"
