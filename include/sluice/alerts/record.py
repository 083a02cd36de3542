"""The lines of the journal, written and parsed. A torn line is a record too, which says where it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

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
class Forgotten(JsonRecord):
    """Removed records: how many alerts and torn lines, and the times of the first and last alert (ISO)."""

    alerts: int = 0
    torn: int = 0
    first: str = ""
    last: str = ""

    @classmethod
    def of(cls, records: Iterable[Record]) -> Forgotten:
        """Count the records of a file that is removed, including what earlier files counted."""
        total = cls()
        for record in records:
            match record:
                case Alert():
                    total = total.plus(cls(1, 0, record.at.isoformat(), record.at.isoformat()))
                case Forgotten():
                    total = total.plus(record)
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


Record: TypeAlias = Alert | Delivery | RunCount | Forgotten | Torn

_KINDS: Mapping[str, type[Alert | Delivery | RunCount | Forgotten]] = {
    "alert": Alert,
    "delivery": Delivery,
    "runs": RunCount,
    "forgotten": Forgotten,
}
"""The key of a line's object → the record in it."""


def line_of(record: Alert | Delivery | RunCount | Forgotten) -> bytes:
    """Return a record as one line: JSON escapes every line break within."""
    name = next(name for name, kind in _KINDS.items() if isinstance(record, kind))
    return json.dumps({name: record.as_dict()}).encode() + b"\n"


def records(name: str, content: bytes) -> Iterator[Record]:
    """Yield the records in the content of a file."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line:
            try:
                yield _record(line)
            except ValueError:
                yield Torn(name, number)


def _record(line: bytes) -> Record:
    """Return what a line holds.

    Raises:
        ValueError: it holds no record.
    """
    parsed = json.loads(line)
    for name, kind in _KINDS.items():
        if isinstance(parsed, dict) and isinstance(parsed.get(name), dict):
            return kind.from_dict(parsed[name])
    raise ValueError("no record")
