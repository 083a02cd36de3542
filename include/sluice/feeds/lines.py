"""The lines of a feed's file as records, and what is wrong with them: all of it at once, at its line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sluice.errors import SpecError
from sluice.specs.code.static import locate_file
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.model import TopicValue, ValueField
from sluice.specs.reading.faults import Fault
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading
from sluice.topics.declared_time import read_time, write_time
from sluice.topics.declared_value import parse_fields
from sluice.topics.json_object import NoObjectError, parse_object
from sluice.topics.printable import printable_bytes

MAX_FAULTS = 20
"""Of one file. Where a whole file is of another kind, all its lines say the same."""
_BROKER = "broker"
_SHOWN_BYTES = 40
_EXAMPLE = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is a record.

    Attributes:
        number: counted from 1.
        value: its bytes, without the line's end: what is sent.
        key: the record's key; None if it has none.
        event: when it happened (UTC).
        arrival: when it became known (UTC).
    """

    number: int
    value: bytes
    key: bytes | None
    event: datetime
    arrival: datetime


@dataclass(frozen=True)
class Fields:
    """Which fields of a line say what.

    Attributes:
        event: when it happened.
        arrival: when it became known.
        key: its key; None for none.
        declared: how the topic declares its fields.
        value: how the topic declares its values; None: a line is a JSON object with these fields.
    """

    event: str
    arrival: str
    key: str | None
    declared: Mapping[str, ValueField] = field(default_factory=dict)
    value: TopicValue | None = None

    @classmethod
    def of(cls, feed: FeedSpec, value: TopicValue) -> Fields:
        """Return those of a feed and the value of its topic."""
        declared = value.event_time if value.arrival_time == _BROKER else value.arrival_time
        return cls(value.event_time, feed.arrival_time or declared, feed.key, value.fields, value)


def lines_of(path: Path) -> list[bytes]:
    """Return the lines of a file, without their ends; gzip is unpacked.

    Raises:
        SpecError: it cannot be read.
    """
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise SpecError(f"{path} cannot be read: {error}.", fix="name a file with one JSON object per line.") from error
    return [line.removesuffix(b"\r") for line in data.removesuffix(b"\n").split(b"\n")] if data else []


def read_lines(lines: list[bytes], file: str, fields: Fields) -> tuple[list[Line], list[Fault]]:
    """Return the lines that are records, and what is wrong with the others."""
    parsed: list[Line] = []
    faults: list[Fault] = []
    seen: dict[bytes, int] = {}
    for number, line in enumerate(lines, 1):
        if (first := seen.setdefault(line, number)) != number:
            faults.append(Fault(file, number, "", f"it is the same as line {first}: {_SAME}", _TELL_APART))
            continue
        try:
            value = _object(line, fields.value)
            event, arrival = _time(value, fields.event, fields), _time(value, fields.arrival, fields)
            parsed.append(Line(number, line, _key(value, fields.key), event, arrival))
        except SpecError as error:
            faults.append(Fault(file, number, "", error.message, error.fix))
    if not lines:
        faults.append(Fault(file, 1, "", "the file is empty.", "put one record on each line."))
    left = len(faults) - MAX_FAULTS
    if left > 0:
        more = Fault(file, faults[MAX_FAULTS].line, "", f"it and {left - 1:,} lines more are refused, too.")
        faults = [*faults[:MAX_FAULTS], more]
    return parsed, faults


def feed_lines_hold(reading: Reading) -> Iterator[Finding]:
    """Every line of every feed's file is a record. Whoever reads specs again and again leaves this rule out."""
    for name, feed in reading.catalog.feeds.items():
        topic = reading.catalog.topics.get(feed.topic)
        if feed.source != "file" or feed.path is None or topic is None:
            continue
        try:
            path = locate_file(feed.package, feed.path, reading.include)
            lines = lines_of(path)
        except SpecError as error:
            if "cannot be read" in error.message:
                yield reading.finding(Kind.FEED, name, ("path",), error.message, error.fix)
            continue  # that it is not there is key by `feed_files_fit`
        shown = reading.file(path) if path.is_relative_to(reading.home) else feed.path
        for fault in read_lines(lines, shown, Fields.of(feed, topic.value))[1]:
            yield Finding((Kind.FEED, name), fault)


_SAME = "after a crash it could not be determined which of them was sent."
_TELL_APART = "give each record an id, or remove one."
_OBJECT = "write one JSON object."


def _object(line: bytes, declared: TopicValue | None) -> dict[str, Any]:
    if not line.strip():
        raise SpecError("the line is empty.", fix="remove it.")
    try:
        return parse_object(line) if declared is None else parse_fields(line, declared)
    except NoObjectError as error:
        lined = declared is not None and declared.line_fields is not None
        fix = "write it as the topic declares its lines, or correct the topic." if lined else _OBJECT
        raise SpecError(f"{error}: {printable_bytes(line, _SHOWN_BYTES)}.", fix=fix) from error


def _time(value: dict[str, Any], name: str, fields: Fields) -> datetime:
    written, declared = value.get(name), fields.declared.get(name)
    example = write_time(_EXAMPLE, declared)
    if written is None:
        raise SpecError(f"it has no {name!r}, which says when it is sent.", fix=f"add it, as {example}.")
    if (instant := read_time(written, declared)) is not None:
        return instant
    shown = printable_bytes(json.dumps(written).encode(), _SHOWN_BYTES)
    raise SpecError(
        f"its {name!r} is {shown}, and no time of the years 1900 to 2199 with its zone.",
        fix=f"write it as {example}, or declare in the topic how it is written (`zone`, `epoch` or `format`).",
    )


def _key(value: dict[str, Any], field: str | None) -> bytes | None:
    """Return the value of the key's field as `sluice topics send` sends it, too."""
    if field is None:
        return None
    if (key := value.get(field)) is None:
        raise SpecError(f"it has no {field!r}, which is to be its key.", fix="add it, or name another `key`.")
    return key.encode() if isinstance(key, str) else json.dumps(key).encode()
