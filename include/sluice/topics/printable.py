"""Foreign bytes as text that a terminal cannot take for commands, and that is short enough to read."""

from __future__ import annotations

import codecs
import unicodedata
from functools import lru_cache

_NOT_SHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, format marks (which turn text around), lone surrogates, what has no meaning, and separators of lines."""


def printable_bytes(data: bytes, most: int | None = None) -> str:
    r"""Return bytes as one line of text.

    Bytes that are no UTF-8 become `\xff`, and so do control characters, marks that reorder text, and line ends.
    More bytes than `most` are cut, and counted.
    """
    if most is None or len(data) <= most:
        return printable_line(data.decode(errors="backslashreplace"))
    # Not the final piece: of a character that is cut in two nothing is shown.
    text = codecs.getincrementaldecoder("utf-8")(errors="backslashreplace").decode(data[:most])
    return f"{printable_line(text)}… ({len(data):,} bytes)"


def printable_line(text: str) -> str:
    """Return text with every character escaped that is not simply shown."""
    return text if text.isascii() and text.isprintable() else "".join(map(_shown, text))


def printable_lines(text: str) -> str:
    """Return text of several lines with the same escaped, but for ends of lines and tabs."""
    return "\n".join("\t".join(map(printable_line, line.split("\t"))) for line in text.split("\n"))


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    if unicodedata.category(character) not in _NOT_SHOWN:
        return character
    return character.encode("unicode_escape").decode()
