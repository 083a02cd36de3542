"""The end of a log."""

from __future__ import annotations

import os
from pathlib import Path

LOG_BYTES = 64 * 1024


def last_lines(file: Path, max_bytes: int = LOG_BYTES) -> str:
    """Return the whole lines within the last bytes of a file."""
    with file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - max_bytes))
        text = opened.read()
    if size > max_bytes:
        text = text.partition(b"\n")[2]
    return text.decode(errors="replace")
