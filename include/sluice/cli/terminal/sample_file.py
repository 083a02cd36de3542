"""Sample files: one JSON value per line, as the bytes that a producer would send."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Sequence
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
    data, shown = read_sample_bytes(name), sample_name(name)
    refuse_large(data, shown)
    lines = data.removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, start=1):
        if b"\0" in line:
            raise SpecError(f"{shown} is binary: line {number} holds a zero byte, which JSON does not allow.", fix=_FIX)
    refuse_long_lines(lines, shown)
    return [line.removesuffix(b"\r") for line in lines]


def sample_name(name: str) -> str:
    """Return what messages call a file."""
    return "standard input" if name == "-" else name


def read_sample_bytes(name: str) -> bytes:
    """Return what a file (`-`: standard input) holds, at most one byte more than a sample may; gzip is unpacked.

    Raises:
        SpecError: it cannot be read, or is empty.
    """
    shown = sample_name(name)
    try:
        data = _read(name)
    except (OSError, EOFError, zlib.error) as error:  # a truncated or damaged gzip is one of the last two
        raise SpecError(f"{shown} cannot be read: {error}.", fix=_FIX) from error
    if not data:
        raise SpecError(f"{shown} is empty.", fix="put one JSON value on each line.")
    return data


def refuse_large(data: bytes, shown: str) -> None:
    """Refuse what is more than a sample.

    Raises:
        SpecError: it is.
    """
    if len(data) > SAMPLE_BYTES:
        raise SpecError(f"{shown} holds more than {SAMPLE_BYTES:,} bytes.", fix="take some of its lines with `head`.")


def refuse_long_lines(lines: Sequence[bytes], shown: str) -> None:
    """Refuse lines that are no record of Kafka.

    Raises:
        SpecError: one is too long.
    """
    for number, line in enumerate(lines, start=1):
        if len(line) > LINE_BYTES:
            raise SpecError(
                f"line {number} of {shown} has {len(line):,} bytes; by default Kafka takes at most {LINE_BYTES:,}.",
                fix=_FIX,
            )


def _read(name: str) -> bytes:
    """Return at most one byte more than the limit: standard input may be endless."""
    if name == "-":
        data = sys.stdin.buffer.read(SAMPLE_BYTES + 1)
    else:
        with Path(name).open("rb") as file:
            data = file.read(SAMPLE_BYTES + 1)
    return gzip.GzipFile(fileobj=BytesIO(data)).read(SAMPLE_BYTES + 1) if data.startswith(_GZIP) else data
