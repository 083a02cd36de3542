"""The newest value of each key, in bounded memory, with the changes since any number.

Every change has a number, one higher than the one before. A reader asks for the changes after a number and gets each
key once, with its newest value: so a slow reader needs no queue, and a burst costs readers nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

Key: TypeAlias = tuple[str, ...]
"""The texts of the key's columns, in their order."""

MAX_VALUES = 100_000
_REMEMBERED_ENDS = 10_000


@dataclass(frozen=True)
class Value:
    """The newest value of a key.

    Attributes:
        key: see `Key`.
        fields: the row, as JSON values.
        at: when it was delivered to the output, as far as that is known; else when it was read (UTC).
        number: of the change that brought it.
    """

    key: Key
    fields: Mapping[str, Any]
    at: datetime
    number: int


@dataclass(frozen=True)
class Changes:
    """The changes since a number.

    Attributes:
        values: newest values, oldest change first.
        gone: keys that were removed.
        number: of the newest change.
        complete: whether nothing is left out; if not, the reader starts over.
    """

    values: tuple[Value, ...]
    gone: tuple[Key, ...]
    number: int
    complete: bool = True


class LiveValues:
    """Newest values of one output. Any thread may call it.

    Args:
        keys: the columns that name a row.
        most: how many values are held; of more, those that changed longest ago are forgotten, and counted.
    """

    def __init__(self, keys: Iterable[str], most: int = MAX_VALUES) -> None:
        self.keys = tuple(keys)
        self.forgotten = 0
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()  # by the number of their change
        self._ends: deque[tuple[int, Key]] = deque(maxlen=_REMEMBERED_ENDS)
        self._number = 0
        self._complete_since = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return how many values are held."""
        return len(self._values)

    @property
    def number(self) -> int:
        """The number of the newest change."""
        return self._number

    def key_of(self, fields: Mapping[str, Any]) -> Key:
        """Return the key of a row.

        Raises:
            KeyError: a column of the key is not in it.
        """
        return tuple(as_text(fields[column]) for column in self.keys)

    def put(self, fields: Mapping[str, Any], at: datetime) -> Value | None:
        """Take in a row; return its value, or None where nothing of it has changed.

        Raises:
            KeyError: a column of the key is not in it.
        """
        row = {name: as_json(value) for name, value in fields.items()}
        key = self.key_of(row)
        with self._lock:
            known = self._values.get(key)
            if known is not None and known.fields == row:
                return None
            self._number += 1
            value = self._values[key] = Value(key, row, at, self._number)
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                forgotten, _ = self._values.popitem(last=False)
                self.forgotten += 1
                self._end(forgotten)
        return value

    def remove(self, key: Key) -> bool:
        """Remove a key; return whether it had a value."""
        with self._lock:
            if self._values.pop(key, None) is None:
                return False
            self._number += 1
            self._end(key)
        return True

    def keys_held(self) -> frozenset[Key]:
        """Return the keys that have a value."""
        with self._lock:
            return frozenset(self._values)

    def since(self, number: int, most: int | None = None) -> Changes:
        """Return the changes since a number, the newest of them if `most` is given; all values if 0 or too long ago."""
        with self._lock:
            complete = self._complete_since <= number <= self._number
            floor = number if complete else 0
            newest: list[Value] = []
            for value in reversed(self._values.values()):
                if value.number <= floor or (most is not None and len(newest) >= most):
                    break
                newest.append(value)
            gone = (key for at, key in self._ends if at > floor and key not in self._values) if complete else ()
            return Changes(tuple(reversed(newest)), tuple(dict.fromkeys(gone)), self._number, complete)

    def find(self, wanted: Mapping[str, str], most: int) -> tuple[list[Value], int]:
        """Return values whose columns have some texts, newest change first, and how many there are in all.

        Args:
            wanted: text by column; with all columns of the key it is one look-up, else all values are scanned.
            most: how many are returned.
        """
        with self._lock:
            if wanted.keys() == set(self.keys):
                one = self._values.get(tuple(as_text(wanted[column]) for column in self.keys))
                return ([one], 1) if one is not None else ([], 0)
            values = list(reversed(self._values.values()))
        matching = [value for value in values if _fits(value, wanted)]
        return matching[:most], len(matching)

    def _end(self, key: Key) -> None:
        if len(self._ends) == self._ends.maxlen:
            self._complete_since = self._ends[0][0]
        self._ends.append((self._number, key))


def _fits(value: Value, wanted: Mapping[str, str]) -> bool:
    return all(column in value.fields and as_text(value.fields[column]) == text for column, text in wanted.items())


def as_json(value: object) -> object:
    """Return a value as JSON has it: times in UTC and exact, decimals as text."""
    match value:
        case datetime():
            return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
        case None | str() | bool() | int() | float():
            return value
        case Mapping():
            return {str(name): as_json(each) for name, each in value.items()}
        case list() | tuple():
            return [as_json(each) for each in value]
        case _:
            return value.hex() if isinstance(value, bytes) else str(value)


def as_text(value: object) -> str:
    """Return a value as it stands in an address: as JSON has it, without the quotes around a text."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _:
            return str(as_json(value))
