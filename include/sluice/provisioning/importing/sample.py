"""The fields of some records of a topic, and their types. No value of a record is kept. Pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any

from sluice.specs.model.model import FieldType
from sluice.specs.model.spec import NAME_PATTERN
from sluice.topics.json_object import as_moment, read_object
from sluice.topics.records import Record
from sluice.values.time_forms import PER_SECOND, EpochUnit

_LONG = 2**63
_SINCE_1970: dict[EpochUnit, int] = {"seconds": 10**9, "milliseconds": 10**12, "microseconds": 10**15}
"""The least number that counts as a present time; ten times that is the limit."""
_TIME_WORDS = frozenset({"at", "date", "time", "timestamp", "ts", "when", "on"})


class Form(Enum):
    """The form of a JSON value."""

    TIMESTAMP = auto()
    TEXT = auto()
    BOOLEAN = auto()
    LONG = auto()
    DOUBLE = auto()
    NESTED = auto()


@dataclass
class FieldSample:
    """One field in a sample.

    Attributes:
        forms: how many values had which form; absent and null ones have none.
        zoneless: how many of its timestamps name no zone.
        epoch: how many of its numbers could be times since 1970, by what they count.
        newest: the latest of its timestamps (UTC; those without a zone taken for UTC), or of its numbers since 1970.
        backward: how often its timestamp was before that of the record before it in the partition.
    """

    forms: Counter[Form] = field(default_factory=Counter)
    zoneless: int = 0
    epoch: Counter[EpochUnit] = field(default_factory=Counter)
    backward: int = 0
    newest: datetime | None = None
    _last: dict[int, datetime] = field(default_factory=dict)

    @property
    def present(self) -> int:
        """How many records have it."""
        return self.forms.total()

    @property
    def type(self) -> FieldType | None:
        """The type that holds all of its values; None if it never had one."""
        forms = set(self.forms)
        if not forms:
            return None
        for form, kind in _TYPES.items():
            if forms == {form}:
                return kind
        return FieldType.DOUBLE if forms == {Form.LONG, Form.DOUBLE} else FieldType.STRING

    @property
    def unit(self) -> EpochUnit | None:
        """The unit in which all of its values could count since 1970; None if they are no such numbers."""
        return next((unit for unit, count in self.epoch.items() if count == self.present), None)

    def add(self, value: Any, partition: int) -> None:  # noqa: ANN401  JSON is any
        """Count one value; it is not kept."""
        form = form_of(value)
        if form is None:
            return
        self.forms[form] += 1
        if form is Form.TIMESTAMP:
            at = as_moment(value)
            assert at is not None  # noqa: S101 - its form says so
            self.zoneless += at.tzinfo is None
            at = at if at.tzinfo else at.replace(tzinfo=UTC)
            self.backward += partition in self._last and at < self._last[partition]
            self._last[partition] = at
            self.newest = at if self.newest is None else max(self.newest, at)
        elif form is Form.LONG:
            for unit, least in _SINCE_1970.items():
                if least <= value < least * 10:
                    self.epoch[unit] += 1
                    at = datetime.fromtimestamp(value // PER_SECOND[unit], UTC)
                    self.newest = at if self.newest is None else max(self.newest, at)


_TYPES = {
    Form.TIMESTAMP: FieldType.TIMESTAMP,
    Form.TEXT: FieldType.STRING,
    Form.BOOLEAN: FieldType.BOOLEAN,
    Form.LONG: FieldType.LONG,
    Form.DOUBLE: FieldType.DOUBLE,
    Form.NESTED: FieldType.STRING,
}


@dataclass
class RecordSample:
    """Statistics of some records of a topic. Those of a partition are added in the order of their offsets.

    Attributes:
        records: how many were added.
        keyed: how many of them have a key.
        objects: how many of the values are JSON objects.
        fields: by name, in the order in which they came; only names that a spec can write.
        others: the keys of objects that are no such name.
    """

    records: int = 0
    keyed: int = 0
    objects: int = 0
    fields: dict[str, FieldSample] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)

    def add(self, record: Record) -> None:
        """Count one record; it is not kept."""
        self.records += 1
        self.keyed += record.key is not None
        fields = read_object(record.value)
        if fields is None:
            return
        self.objects += 1
        for name, value in fields.items():
            if re.fullmatch(NAME_PATTERN, name) is None:
                self.others.add(name)
            else:
                self.fields.setdefault(name, FieldSample()).add(value, record.partition)

    def always(self, name: str) -> bool:
        """Whether every object has this field."""
        return self.fields[name].present == self.objects

    def unit(self, name: str) -> EpochUnit | None:
        """Return the unit since 1970 of a field whose values and name are those of a time; None of any other."""
        return epoch_of(name, self.fields[name])


def epoch_of(name: str, seen: FieldSample) -> EpochUnit | None:
    """Return the unit since 1970 of values that are those of a time, in a field that is named like one."""
    return seen.unit if _TIME_WORDS & set(name.split("_")) else None


def form_of(value: Any) -> Form | None:  # noqa: ANN401  JSON is any
    """Return the form of a JSON value; None of null."""
    match value:
        case None:
            return None
        case bool():
            return Form.BOOLEAN
        case int():
            return Form.LONG if -_LONG <= value < _LONG else Form.DOUBLE
        case float():
            return Form.DOUBLE
        case str():
            return Form.TEXT if as_moment(value) is None else Form.TIMESTAMP
        case _:
            return Form.NESTED
