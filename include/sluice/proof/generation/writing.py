"""What every format does: it says what its bytes can hold, and makes bytes of what a record holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sluice.proof.generation.shapes import FieldShape

Tree = Mapping[str, object]
"""What the bytes of a record hold, by the keys in them: content of objects, arrays and maps is the same."""
MARK = "proof_record"
"""How what nobody has declared is called, where a record holds its number so that no two are alike."""


class ValueWriting(Protocol):
    """Makes the bytes of records under one schema."""

    @property
    def shapes(self) -> Mapping[str, FieldShape]:
        """The declared fields that the bytes have."""
        ...

    @property
    def takes_marks(self) -> bool:
        """Whether the bytes have room for a number that no field holds."""
        ...

    def write(self, tree: Tree, mark: int | None = None) -> bytes:
        """Return the bytes of a record.

        Args:
            tree: what it holds.
            mark: a number that no field holds; ignored where there is no room for it.

        Raises:
            UnmadeError: the bytes cannot hold it.
        """
        ...


def varint(number: int) -> bytes:
    """Return a number without a sign in groups of seven bits, the lowest first, as Protobuf and Avro write it."""
    found = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits of each byte
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
