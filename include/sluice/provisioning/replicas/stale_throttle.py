"""The throttle that a killed move has left: it would slow down every later copy, also one after a failure."""

from __future__ import annotations

from collections.abc import Collection

from sluice.clock import Clock
from sluice.topics.administration import KafkaAdministration
from sluice.topics.replica_administration import THROTTLED

QUIET_SECONDS = 60.0
"""How long nothing may move before a throttle counts as stale: between two batches of an apply there are seconds."""
_POLL_SECONDS = 5.0


def remove_stale_throttles(
    administration: KafkaAdministration, topics: Collection[str], clock: Clock
) -> tuple[str, ...]:
    """Remove throttles of these topics under which nothing moves any more, and return the topics that had one.

    Raises:
        RefusedError: the cluster refused.
        UnreachableError: it did not answer.
    """
    if not throttled(administration, topics):
        return ()
    until = clock.monotonic() + QUIET_SECONDS
    while not administration.moving():
        if clock.monotonic() >= until:
            left = throttled(administration, topics)
            administration.unthrottle(left)
            return left
        clock.sleep(_POLL_SECONDS)
    return ()


def throttled(administration: KafkaAdministration, topics: Collection[str]) -> tuple[str, ...]:
    """Return the topics under a throttle, in alphabetical order.

    Raises:
        UnreachableError: it did not answer.
    """
    states = administration.describe(topics)
    return tuple(sorted(name for name, state in states.items() if any(key in state.configs for key in THROTTLED)))
