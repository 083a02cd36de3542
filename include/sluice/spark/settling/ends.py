"""The ends of a topic as the broker lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sluice.errors import SluiceError
from sluice.intervals.reach import Reach
from sluice.topics.administration import TopicExtent


def log_ends(extents: Callable[[Sequence[str]], Mapping[str, TopicExtent | SluiceError]], topic: str) -> Reach:
    """Return the ends of a topic's logs now, what lies behind open transactions included, and its id.

    Args:
        extents: asks the cluster.
        topic: its name.

    Raises:
        SluiceError: the cluster knows no such topic, or does not answer.
    """
    extent = extents([topic])[topic]
    if isinstance(extent, SluiceError):
        raise extent
    ends = {f"{topic}/{number}": end + extent.held.get(number, 0) for number, end in extent.ends.items()}
    return Reach(ends, (extent.topic_id,))
