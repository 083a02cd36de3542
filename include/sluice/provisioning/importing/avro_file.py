"""The header of an Avro object container file (specification 1.12): the schema of what it holds. Pure."""

from __future__ import annotations

MAGIC = b"Obj\x01"
"""What such a file begins with."""
_SCHEMA = b"avro.schema"
_MOST_BYTES_OF_A_LONG = 10


def schema_of_file(data: bytes) -> bytes:
    """Return the schema of a container file, JSON; only its header is read.

    Args:
        data: the file, or its beginning.

    Raises:
        ValueError: it is damaged, or cut short, in words.
    """
    header = _Header(data, len(MAGIC))
    found: dict[bytes, bytes] = {}
    while count := header.long():
        if count < 0:  # the size of the block follows, for readers that skip it
            header.long()
        for _ in range(abs(count)):
            key = header.text()
            found[key] = header.text()
    if _SCHEMA not in found:
        raise ValueError("its header has no schema")
    return found[_SCHEMA]


class _Header:
    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    def long(self) -> int:
        """Return the next number: seven bits a byte, the lowest first, the sign in the lowest of all."""
        number = 0
        for place in range(_MOST_BYTES_OF_A_LONG):
            byte = self._bytes(1)[0]
            number |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follow
                return (number >> 1) ^ -(number & 1)
        raise ValueError("its header has a number of more than 64 bits")

    def text(self) -> bytes:
        return self._bytes(self.long())

    def _bytes(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise ValueError("its header is cut short")
        found, self._at = self._data[self._at : end], end
        return found
