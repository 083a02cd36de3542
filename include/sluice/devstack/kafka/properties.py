"""Values of Java's `.properties` files, which are read as ISO-8859-1 and have escapes of their own."""

from __future__ import annotations

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def property_value(value: object) -> str:
    """Return a value as `java.util.Properties` reads it back, in ASCII; a blank at its start is kept, too."""
    text = "".join(_ESCAPES.get(character) or _in_ascii(character) for character in str(value))
    return f"\\{text}" if text.startswith(" ") else text


def _in_ascii(character: str) -> str:
    """Return a character as it is, or by the numbers of its UTF-16 code units."""
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
