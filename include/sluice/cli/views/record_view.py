"""Records of a topic as lines for people, and as JSON values for programs."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

from rich.text import Text

from sluice.topics.printable import printable_bytes, printable_line
from sluice.topics.records import Record

TOMBSTONE = "(tombstone)"
_NO_TIME = "no time                 "


def as_line(record: Record, most: int | None) -> Text:
    """Return a record as one line: time (UTC), partition/offset, key, headers, value; each cut after `most` bytes."""
    line = Text(f"{_time(record.at) or _NO_TIME}  {record.partition}/{record.offset}", style="dim")
    line.append("  ")
    if record.key is not None:
        line.append(f"{printable_bytes(record.key, most)}  ", style="cyan not dim")
    for name, value in record.headers:
        shown = "" if value is None else f"={printable_bytes(value, most)}"
        line.append(f"[{printable_line(name)}{shown}]  ", style="magenta not dim")
    if record.value is None:
        return line.append(TOMBSTONE, style="yellow not dim")
    return line.append(printable_bytes(record.value, most), style="not dim")


def as_dict(topic: str, record: Record, most: int | None) -> dict[str, Any]:
    """Return a record as JSON values.

    UTF-8 is text under `key` and `value`; other bytes are under `key_base64` and `value_base64`. A value that is cut
    also has `value_bytes`, its full length.
    """
    return {
        "topic": topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": _time(record.at),
        "timestamp_by": "broker" if record.appended else "producer",
        **bytes_as_dict("key", record.key, most),
        **bytes_as_dict("value", record.value, most),
        "headers": [{"name": name, **bytes_as_dict("value", value, most)} for name, value in record.headers],
    }


def bytes_as_dict(name: str, data: bytes | None, most: int | None = None) -> dict[str, Any]:
    """Return bytes as JSON values under a name; see `as_dict`."""
    if data is None:
        return {name: None}
    cut = most is not None and len(data) > most
    length = {f"{name}_bytes": len(data)} if cut else {}
    try:
        data.decode()
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data[:most]).decode(), **length}
    return {name: data[:most].decode(errors="ignore") if cut else data.decode(), **length}


def _time(at: datetime | None) -> str | None:
    return None if at is None else f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"
