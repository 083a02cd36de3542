"""The lines of the journal, written and parsed. A torn line is a record too, which says where it is."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sluice.alerts.alert import Alert
from sluice.alerts.delivery import Delivery
from sluice.alerts.json_record import JsonRecord
from sluice.alerts.runs import RunCount


@dataclass(frozen=True)
class Torn:
    """A line that cannot be parsed: a crash has torn it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} is torn or no record; it was left out."


@dataclass(frozen=True)
class CarriedRecord:
    """A record of a file that was removed.

    Attributes:
        record: older than every record that is not carried.
        place: grows from each record of the journal to the next one; a record keeps it when it is carried again.
    """

    record: Alert | Delivery | RunCount
    place: int


@dataclass(frozen=True)
class Forgotten(JsonRecord):
    """Removed records: how many alerts and torn lines, and the times of the first and last alert (ISO)."""

    alerts: int = 0
    torn: int = 0
    first: str = ""
    last: str = ""

    @classmethod
    def of(cls, records: Iterable[Record], kept: Collection[str] = ()) -> Forgotten:
        """Count the records of a file that is removed, including what earlier files counted.

        Args:
            records: those of the file.
            kept: the ids of alerts that stay on record elsewhere.
        """
        total = cls()
        for record in records:
            match record.record if isinstance(record, CarriedRecord) else record:
                case Alert(id=alert_id, at=at) if alert_id not in kept:
                    total = total.plus(cls(1, 0, at.isoformat(), at.isoformat()))
                case Forgotten() as earlier:
                    total = total.plus(earlier)
                case Torn():
                    total = total.plus(cls(torn=1))
        return total

    def plus(self, later: Forgotten) -> Forgotten:
        """Return both together."""
        return Forgotten(
            self.alerts + later.alerts, self.torn + later.torn, self.first or later.first, later.last or self.last
        )

    def __str__(self) -> str:
        torn = f" (and {self.torn} torn lines)" if self.torn else ""
        return f"{self.alerts} older alerts, {self.first} to {self.last}, made room for newer ones{torn}."


Record: TypeAlias = Alert | Delivery | RunCount | CarriedRecord | Forgotten | Torn

_KINDS: Mapping[str, type[Alert | Delivery | RunCount | Forgotten]] = {
    "alert": Alert,
    "delivery": Delivery,
    "runs": RunCount,
    "forgotten": Forgotten,
}
"""The key of a line's object → the record in it."""
_CARRIED, _PLACE = "carried", "place"


def line_of(record: Alert | Delivery | RunCount | CarriedRecord | Forgotten) -> bytes:
    """Return a record as one line: JSON escapes every line break within."""
    values = _values(record.record if isinstance(record, CarriedRecord) else record)
    if isinstance(record, CarriedRecord):
        values = {_CARRIED: values, _PLACE: record.place}
    return json.dumps(values).encode() + b"\n"


def _values(record: Alert | Delivery | RunCount | Forgotten) -> dict[str, Any]:
    name = next(name for name, kind in _KINDS.items() if isinstance(record, kind))
    return {name: record.as_dict()}


def records(name: str, content: bytes) -> Iterator[Record]:
    """Yield the records in the content of a file."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line:
            try:
                yield _record(json.loads(line))
            except ValueError:
                yield Torn(name, number)


def _record(parsed: object) -> Alert | Delivery | RunCount | CarriedRecord | Forgotten:
    """Return what the JSON of a line holds.

    Raises:
        ValueError: it holds no record.
    """
    if isinstance(parsed, dict):
        for name, kind in _KINDS.items():
            if isinstance(parsed.get(name), dict):
                return kind.from_dict(parsed[name])
        carried, place = _record(parsed[_CARRIED]) if _CARRIED in parsed else None, parsed.get(_PLACE)
        if isinstance(carried, Alert | Delivery | RunCount) and isinstance(place, int):
            return CarriedRecord(carried, place)
    raise ValueError("no record")
