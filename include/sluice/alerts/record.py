"""The lines of the journal, written and parsed. A torn line is a record too, which says where it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TypeAlias

from sluice.alerts.alert import Alert
from sluice.alerts.delivery import Delivery
from sluice.alerts.runs import RunCount


@dataclass(frozen=True)
class Torn:
    """A line that cannot be parsed: a crash has torn it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} is torn or no record; it was left out."


@dataclass(frozen=True)
class Forgotten:
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


def line_of(record: Alert | Delivery | RunCount | Forgotten) -> bytes:
    """Return a record as one line: JSON escapes every line break within."""
    match record:
        case Alert():
            named = {"alert": record.as_dict()}
        case Delivery():
            named = {"delivery": record.as_dict()}
        case RunCount():
            named = {"runs": record.as_dict()}
        case Forgotten():
            named = {"forgotten": asdict(record)}
    return json.dumps(named).encode() + b"\n"


def records(name: str, content: bytes) -> Iterator[Record]:
    """Yield the records in a file.

    Args:
        name: the file's.
        content: all of it.
    """
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
    match json.loads(line):
        case {"alert": dict(values)}:
            return Alert.from_dict(values)
        case {"delivery": dict(values)}:
            return Delivery.from_dict(values)
        case {"runs": dict(values)}:
            return RunCount.from_dict(values)
        case {"forgotten": {"alerts": int(count), "torn": int(torn), "first": str(first), "last": str(last)}}:
            return Forgotten(count, torn, first, last)
        case _:
            raise ValueError("no record")
