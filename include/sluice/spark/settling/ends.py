"""The ends of a topic as the broker lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sluice.errors import SluiceError
from sluice.intervals.reach import Reach
from sluice.topics.administration import TopicExtent


class Extents(Protocol):
    """A cluster that says what its topics hold."""

    def extents(self, names: Sequence[str]) -> Mapping[str, TopicExtent | SluiceError]:
        """Return what each topic holds, or why that is not known."""


def log_ends(cluster: Extents, topic: str) -> Reach:
    """Return the ends of a topic's logs now, what lies behind open transactions included, and its id.

    Args:
        cluster: to ask.
        topic: its name.

    Raises:
        SluiceError: the cluster knows no such topic, or does not answer.
    """
    extent = cluster.extents([topic])[topic]
    if isinstance(extent, SluiceError):
        raise extent
    ends = {f"{topic}/{number}": end + extent.held.get(number, 0) for number, end in extent.ends.items()}
    return Reach(ends, (extent.topic_id,))
