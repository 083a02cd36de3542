"""Changes of a cluster are known to the broker that is asked next a moment after they were made."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sluice.clock import Clock

_Found = TypeVar("_Found")

SPREADING_SECONDS = 15.0
"""So long after a change every broker must know of it."""
_POLL_SECONDS = 0.25


def once_spread(compare: Callable[[], _Found], differs: Callable[[_Found], bool], clock: Clock) -> _Found:
    """Compare what is declared with the cluster until nothing differs, or for a while; return the last result."""
    until = clock.monotonic() + SPREADING_SECONDS
    while differs(found := compare()) and clock.monotonic() < until:
        clock.sleep(_POLL_SECONDS)
    return found
