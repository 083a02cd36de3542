"""When a driver runs: all the time, by a schedule, or as long as there is something to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated

from croniter import croniter
from pydantic import BeforeValidator, WithJsonSchema

from sluice.specs.model.duration import Duration, format_duration, parse_duration

LEAST_PAUSE = timedelta(minutes=5)
"""A start takes most of a minute of a processor: more often, a driver that goes on is cheaper."""

_PRESETS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
}
_FIELDS = 5
_FIELD = re.compile(
    r"([0-9*,/-]|\b(mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b)+", re.IGNORECASE
)
"""What every reader of cron takes alike: without its makers' additions, of which one is a time at random."""
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
_WALK = timedelta(days=8)
_LEAST_STEPS, _MOST_STEPS = 16, 3_000


def parse_schedule(text: object) -> str:
    """Read cron of five fields, a preset, or a duration that divides the day, and return it as cron (UTC).

    Raises:
        ValueError: for anything else, and for what is due more often than `LEAST_PAUSE`.
    """
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{text!r} is no schedule; {_FORMS}")
    words = text.split()
    is_cron = len(words) == _FIELDS and all(map(_FIELD.fullmatch, words))
    cron = _PRESETS.get(text.strip().lower()) or (" ".join(words) if is_cron else _of_duration(text))
    try:
        pauses = list(_pauses(cron))
    except ValueError as error:  # croniter's are such
        raise ValueError(f"{text!r} is no schedule ({error}); {_FORMS}") from None
    if min(pauses) < LEAST_PAUSE:
        raise ValueError(
            f"{text!r} starts a driver every {format_duration(min(pauses))}, and each start takes most of a minute; "
            f"leave {format_duration(LEAST_PAUSE)} at least, or write a `trigger`: such a driver goes on"
        )
    return cron


_FORMS = (
    "write cron of five fields in UTC such as '0 * * * *', a preset such as '@hourly', or a duration that divides the "
    "day such as '30 minutes'"
)


def _of_duration(text: str) -> str:
    try:
        every = parse_duration(text)
    except ValueError:
        raise ValueError(f"{text!r} is no schedule; {_FORMS}") from None
    if not every or every > _DAY or _DAY % every or (_HOUR % every and every % _HOUR):
        raise ValueError(f"{text!r} does not divide the day evenly; {_FORMS}")
    minutes, hours = every // timedelta(minutes=1), every // _HOUR
    if not minutes or every % timedelta(minutes=1):
        raise ValueError(f"{text!r} is shorter than cron can say; {_FORMS}")
    if every == _DAY:
        return "0 0 * * *"
    return f"*/{minutes} * * * *" if every < _HOUR else "0 * * * *" if hours == 1 else f"0 */{hours} * * *"


@lru_cache(maxsize=4096)
def next_due(cron: str, after: datetime) -> datetime:
    """Return the first time (UTC) at which a schedule is due after another; that of a start is asked for for long."""
    return croniter(cron, after.astimezone(UTC)).get_next(datetime)  # type: ignore[no-any-return]  # it has no types


@lru_cache(maxsize=256)
def longest_pause(cron: str) -> timedelta:
    """Return the longest time between two starts, by a walk over more than a week of them."""
    return max(_pauses(cron))


def _pauses(cron: str) -> Iterator[timedelta]:
    """Yield the times between starts, more than a week of them, and so many at least that rare ones count."""
    ticks, before = croniter(cron, _EPOCH), None
    for step in range(_MOST_STEPS):
        tick: datetime = ticks.get_next(datetime)
        if before is not None:
            yield tick - before
        if tick - _EPOCH > _WALK and step >= _LEAST_STEPS:
            return
        before = tick


Schedule = Annotated[
    str,
    BeforeValidator(parse_schedule),
    WithJsonSchema({"type": "string", "examples": ["0 * * * *", "@hourly", "30 minutes"]}),
]
"""When a driver is started; cron in UTC, however it is written down."""


LEAST_IDLE = timedelta(minutes=5)
"""A start takes most of a minute: a shorter rest returns nothing."""


def _parse_idle(text: object) -> timedelta:
    idle = parse_duration(text)
    if idle < LEAST_IDLE:
        raise ValueError(
            f"{format_duration(idle)} is shorter than {format_duration(LEAST_IDLE)}, and a start takes most of a "
            "minute; write more"
        )
    return idle


IdleTime = Annotated[Duration, BeforeValidator(_parse_idle)]
"""For how long there is nothing to read before a driver ends by itself."""


@dataclass(frozen=True)
class RunPlan:
    """When the driver of a unit is to run.

    Attributes:
        schedule: when it is started (cron, UTC); None: whenever it is wanted, or when its records come.
        stop_when_idle: after how long without a record it ends by itself; None: never, or, with a schedule, as soon as
            what was there at its start is read.
    """

    schedule: str | None = None
    stop_when_idle: timedelta | None = None

    @property
    def bounded(self) -> bool:
        """Whether a driver reads what is there at its start, and ends."""
        return self.schedule is not None and self.stop_when_idle is None

    @property
    def pause(self) -> timedelta | None:
        """The longest time between two starts by the schedule; None without one."""
        return None if self.schedule is None else longest_pause(self.schedule)


ALL_THE_TIME = RunPlan()
