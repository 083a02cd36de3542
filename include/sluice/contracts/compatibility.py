"""Which versions of a contract have to go together."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum


class Compatibility(StrEnum):
    """What holds between the newest version and those before it.

    Backward: what was written under an older version is read under the newest. Forward: the other way round. Without
    `_transitive` only the last two versions are compared, and a break in two steps passes.
    """

    BACKWARD_TRANSITIVE = "backward_transitive"
    FORWARD_TRANSITIVE = "forward_transitive"
    FULL_TRANSITIVE = "full_transitive"
    BACKWARD = "backward"
    FORWARD = "forward"
    FULL = "full"
    NONE = "none"

    def pairs(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield the pairs of writer and reader, as positions among `count` versions, the newest last."""
        newest = count - 1
        older = range(newest) if self.endswith("_transitive") else range(max(newest - 1, 0), newest)
        for version in older if self is not Compatibility.NONE else ():
            if self.startswith(("backward", "full")):
                yield version, newest
            if self.startswith(("forward", "full")):
                yield newest, version
