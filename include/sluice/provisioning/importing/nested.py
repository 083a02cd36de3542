"""The fields inside the objects, lists and maps of a sample, as a declaration. No value of a record is kept. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from sluice.provisioning.importing.sample import FieldSample, Form, epoch_of
from sluice.specs.model.model import FieldType
from sluice.specs.model.spec import NAME_PATTERN

MOST_KEYS = 100
"""Objects with more different keys are maps: their keys are data."""
_DEEPEST = 15
_LONGEST_STEM = 55
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_PATH_KEY = re.compile(r"[^'\"\\\x00-\x1f\x7f-\x9f]{1,100}")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_TEXT = f"type: {FieldType.STRING}"


@dataclass
class NestedSample:
    """What the values of one field are, with what is inside them.

    Attributes:
        seen: its scalars, and how many of its values are objects or lists.
        dates: how many of its values are dates.
        objects: how many are objects.
        lists: how many are lists.
        inside: what is under each key of the objects.
        entries: the entries of the lists.
    """

    seen: FieldSample = field(default_factory=FieldSample)
    dates: int = 0
    objects: int = 0
    lists: int = 0
    inside: dict[str, NestedSample] = field(default_factory=dict)
    entries: NestedSample | None = None

    def add(self, value: Any, level: int = 0) -> None:  # noqa: ANN401  JSON is any
        """Count one value; it is not kept."""
        self.seen.add(value, 0)
        if isinstance(value, str):
            self.dates += is_date(value)
        if level == _DEEPEST:
            return
        if isinstance(value, dict):
            self.objects += 1
            for key, part in value.items():
                if level == 0 or key in self.inside or len(self.inside) <= MOST_KEYS:
                    self.inside.setdefault(key, NestedSample()).add(part, level + 1)
        elif isinstance(value, list):
            self.lists += 1
            self.entries = self.entries or NestedSample()
            for part in value:
                self.entries.add(part, level + 1)


def declared_as(sample: NestedSample, where: str) -> tuple[str, list[str]]:
    """Return the declaration of a field that has a value, as `type: long`, and what is to be known of it.

    Args:
        sample: its values.
        where: the way to it in words, such as `user.tags[]`; empty of a value's own field.
    """
    forms = {form for form, count in sample.seen.forms.items() if count}
    if not forms:
        return _TEXT, [f"{where}: only null in the sample; see what it is"]
    if forms != {Form.NESTED}:
        return _scalar(sample, forms, where)
    if sample.objects == sample.seen.present:
        return _object(sample, where)
    if sample.lists == sample.seen.present and sample.entries is not None:
        if not sample.entries.seen.present:
            return _TEXT, [f"{where}: empty lists, kept as JSON text; nothing says what their entries are"]
        entry, notes = declared_as(sample.entries, f"{where}[]")
        return f"type: {FieldType.ARRAY}, items: {{{entry}}}", notes
    return _TEXT, [f"{where}: objects and lists, kept as JSON text"]


def named(key: str, taken: set[str]) -> tuple[str, str] | None:
    """Return the name of a field for a key, and its path if the key is no such name; None if it cannot have one."""
    if re.fullmatch(NAME_PATTERN, key):
        return key, ""
    name = in_words(key)
    if not re.fullmatch(NAME_PATTERN, name) or name in taken or _PATH_KEY.fullmatch(key) is None:
        return None
    return name, path_of(key)


def in_words(key: str) -> str:
    """Return a key as names of fields are written: `Unit Price` and `unitPrice` are `unit_price`; it may be none."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
    return re.sub(r"[^a-z0-9]+", "_", words).strip("_")


def distinct_names(keys: Sequence[str], stem: str) -> list[str]:
    """Return a name for each key: the key itself where it can be, else its words; no name is there twice.

    Args:
        keys: in their order; they may repeat.
        stem: what a key without such words is called, with its number from 1, such as `column` in `column_3`.
    """
    taken = {key for key in keys if re.fullmatch(NAME_PATTERN, key)}
    names: list[str] = []
    for number, key in enumerate(keys, 1):
        if key in taken and key not in names:
            names.append(key)
            continue
        words = in_words(key)
        name = wanted = words if re.fullmatch(NAME_PATTERN, words) else f"{stem}_{number}"
        further = 2
        while name in taken or name in names:
            name, further = f"{wanted[:_LONGEST_STEM]}_{further}", further + 1
        names.append(name)
    return names


def path_of(key: str) -> str:
    """Return the path to a key of an object."""
    return f"$.{key}" if _PLAIN_KEY.fullmatch(key) else f"$['{key}']"


def with_path(declared: str, path: str) -> str:
    """Return a declaration with the path of its field, if it has one."""
    return f'{declared}, path: "{path}"' if path else declared


def _scalar(sample: NestedSample, forms: set[Form], where: str) -> tuple[str, list[str]]:
    seen = sample.seen
    leaf = re.split(r"[.\[{]", where.rstrip("[]{}"))[-1]
    if (unit := epoch_of(leaf, seen)) is not None:
        note = f"{where}: numbers of the size of times in {unit}; see that the unit is right"
        return f"type: {FieldType.TIMESTAMP}, epoch: {unit}", [note]
    if seen.type is FieldType.TIMESTAMP and seen.zoneless:
        return f"type: {seen.type}, zone: UTC", [f"{where}: names no zone; see that it is this one"]
    if sample.dates and sample.dates == seen.present:
        return f"type: {FieldType.DATE}", []
    mixed = seen.type is FieldType.STRING and forms - {Form.TEXT, Form.TIMESTAMP}
    return f"type: {seen.type}", [f"{where}: of several types, kept as JSON text"] if mixed else []


def _object(sample: NestedSample, where: str) -> tuple[str, list[str]]:
    if not sample.inside:
        return _TEXT, [f"{where}: empty objects, kept as JSON text"]
    if len(sample.inside) > MOST_KEYS:
        note = f"{where}: more than {MOST_KEYS} different keys, kept as JSON text; declare a map if they are data"
        return _TEXT, [note]
    fields, notes = [], list[str]()
    for key, name, path, part in _named_fields(sample):
        if not name:
            notes.append(f"{where}: a key inside is left out, for no field can be named like it, or no path")
        elif not part.seen.present:
            notes.append(f"{where}.{name}: left out, for it was always null")
        else:
            declared, further = declared_as(part, f"{where}.{key if not path else name}")
            fields.append(f"{name}: {{{with_path(declared, path)}}}")
            notes += further
    if not fields:
        return _TEXT, [*notes, f"{where}: nothing inside can be declared, kept as JSON text"]
    return f"type: {FieldType.OBJECT}, fields: {{{', '.join(fields)}}}", notes


def _named_fields(sample: NestedSample) -> Iterator[tuple[str, str, str, NestedSample]]:
    taken = {key for key in sample.inside if re.fullmatch(NAME_PATTERN, key)}
    for key, part in sample.inside.items():
        name, path = named(key, taken) or ("", "")
        taken.add(name)
        yield key, name, path, part


def is_date(text: str) -> bool:
    """Whether a text is a date as a topic reads it without a `format`: `2013-01-31`."""
    if _DATE.fullmatch(text) is None:
        return False
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False
