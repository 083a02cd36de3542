"""Sample files: one JSON value per line, as the bytes that a producer would send."""

from __future__ import annotations

import gzip
import sys
import zlib
from io import BytesIO
from pathlib import Path

from sluice.errors import SpecError

LINE_BYTES = 1_048_576
"""A longer value does not fit into a Kafka record with the broker's default."""
SAMPLE_BYTES = 16 * 1_048_576
"""The largest sample, because it is held in memory. A stream or a backfill handles more."""

_GZIP = b"\x1f\x8b"
_FIX = "name a file with one JSON value per line."


def read_sample(name: str) -> list[bytes]:
    """Return the lines of a file (`-`: standard input), without their line ends; gzip is unpacked.

    Raises:
        SpecError: it cannot be read, is empty or binary, or is too large.
    """
    shown = "standard input" if name == "-" else name
    try:
        data = _read(name)
    except (OSError, EOFError, zlib.error) as error:  # a truncated or damaged gzip is one of the last two
        raise SpecError(f"{shown} cannot be read: {error}.", fix=_FIX) from error
    if len(data) > SAMPLE_BYTES:
        raise SpecError(f"{shown} holds more than {SAMPLE_BYTES:,} bytes.", fix="take some of its lines with `head`.")
    if not data:
        raise SpecError(f"{shown} is empty.", fix="put one JSON value on each line.")
    lines = data.removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, start=1):
        if b"\0" in line:
            raise SpecError(f"{shown} is binary: line {number} holds a zero byte, which JSON does not allow.", fix=_FIX)
        if len(line) > LINE_BYTES:
            raise SpecError(
                f"line {number} of {shown} has {len(line):,} bytes; by default Kafka takes at most {LINE_BYTES:,}.",
                fix=_FIX,
            )
    return [line.removesuffix(b"\r") for line in lines]


def _read(name: str) -> bytes:
    """Return at most one byte more than the limit: standard input may be endless."""
    if name == "-":
        data = sys.stdin.buffer.read(SAMPLE_BYTES + 1)
    else:
        with Path(name).open("rb") as file:
            data = file.read(SAMPLE_BYTES + 1)
    return gzip.GzipFile(fileobj=BytesIO(data)).read(SAMPLE_BYTES + 1) if data.startswith(_GZIP) else data
