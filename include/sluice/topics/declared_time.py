"""Times of records as their topic declares them: text in ISO 8601 or another form, or numbers since 1970. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from sluice.specs.model.model import ValueField
from sluice.topics.json_object import EARLIEST, LATEST, as_moment
from sluice.values.time_forms import PER_SECOND
from sluice.values.time_pattern import time_pattern

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNITS = (
    *(timedelta(milliseconds=length) for length in (1, 10, 100)),
    *(timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days")),
)
"""Of what forms leave out, the shortest first."""


def read_time(value: object, field: ValueField | None = None) -> datetime | None:
    """Return a plausible time (UTC) as validation reads it; None of anything else. Undeclared: text with its zone."""
    if field is not None and field.epoch is not None:
        return _counted(value, PER_SECOND[field.epoch])
    if field is not None and field.format is not None:
        at = time_pattern(field.format).read(value, _zone(field)) if isinstance(value, str) else None
        return at if at is not None and EARLIEST <= at < LATEST else None
    moment = as_moment(value) if isinstance(value, str) else None
    if moment is None or (moment.tzinfo is None and (field is None or field.zone is None)):
        return None
    if moment.tzinfo is None and field is not None and field.zone is not None:
        moment = moment.replace(tzinfo=_offset(field.zone))
    return moment.astimezone(UTC) if EARLIEST <= moment < LATEST else None


def write_time(at: datetime, field: ValueField | None = None) -> str | int:
    """Return a time (UTC, whole milliseconds) as a record of the topic has it; a coarser form leaves out the rest."""
    if field is not None and field.epoch is not None:
        return (at - _EPOCH) // _MICROSECOND * PER_SECOND[field.epoch] // 1_000_000
    if field is not None and field.format is not None:
        return time_pattern(field.format).write(at, _zone(field))
    written = at.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{written}.{at.microsecond // 1000:03}Z" if at.microsecond else f"{written}Z"


def next_written(at: datetime, field: ValueField | None = None) -> datetime:
    """Return the first time from `at` on (UTC) of which the field's form leaves nothing out."""
    below = read_time(write_time(at, field), field)
    if below is None or below >= at:
        return at
    above = (below + unit for unit in _UNITS)
    return next((each for each in above if read_time(write_time(each, field), field) == each), at)


def _counted(value: object, per_second: int) -> datetime | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    seconds, rest = divmod(value, per_second)
    if not EARLIEST.timestamp() <= seconds < LATEST.timestamp():
        return None
    return _EPOCH + timedelta(seconds=seconds, microseconds=rest * 1_000_000 // per_second)


def _zone(field: ValueField) -> timezone:
    return UTC if field.zone is None else _offset(field.zone)


def _offset(zone: str) -> timezone:
    if zone == "UTC":
        return UTC
    length = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
    return timezone(-length if zone.startswith("-") else length)
