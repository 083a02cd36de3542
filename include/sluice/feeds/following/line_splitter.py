"""Lines from the bytes of a connection, in whatever pieces they come."""

from __future__ import annotations

from sluice.errors import RefusedError

_LONGEST = 16 * 1024 * 1024


class LineSplitter:
    """Keeps what has no end yet. A line ends at a line feed; a return before it does not belong to the line."""

    def __init__(self) -> None:
        self._rest = bytearray()

    @property
    def unfinished(self) -> int:
        """How many bytes of a line are there that has no end yet."""
        return len(self._rest)

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that end in a piece, without those that are empty.

        Raises:
            RefusedError: there is no end in 16 MiB.
        """
        if b"\n" not in piece:
            self._rest += piece
            if len(self._rest) > _LONGEST:
                raise RefusedError(
                    f"The source sent {len(self._rest):,} bytes without a line end.",
                    fix="check that it sends lines of text, each with a line feed at its end.",
                )
            return []
        head, _, rest = piece.rpartition(b"\n")
        lines = (bytes(self._rest) + head).split(b"\n")
        self._rest = bytearray(rest)
        return [line for each in lines if (line := each.removesuffix(b"\r"))]
