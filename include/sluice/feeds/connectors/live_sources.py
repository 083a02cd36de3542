"""The live sources that a feed's spec can name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sluice.clock import Clock
from sluice.errors import SpecError
from sluice.feeds.following.ports import EventSource
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.feeds.live import FolderSpec, LiveSourceSpec, SocketSpec, SseSpec, WebSocketSpec
from sluice.specs.model.model import TopicSpec


def live_of(spec: FeedSpec) -> LiveSourceSpec:
    """Return how a feed's live source is followed.

    Raises:
        SpecError: it has none.
    """
    if (live := spec.live) is None:
        raise SpecError(
            f"The feed {spec.name} (`source: {spec.source}`) has an end, so it is not followed.",
            fix=f"run `sluice feed send {spec.name}`.",
        )
    return live


def live_source(
    live: LiveSourceSpec, topic: TopicSpec, home: Path, clock: Clock, tell: Callable[[str], None]
) -> EventSource:
    """Return a live source; it is not connected yet.

    Args:
        live: what the feed's spec says of it.
        topic: into which it is followed.
        home: the project, below which relative folders are.
        clock: says how long a file has not changed.
        tell: gets what is worth a line of the log.

    Raises:
        NotConfiguredError: a variable that the spec names is not set here.
    """
    match live:
        case WebSocketSpec():
            from sluice.feeds.connectors.websocket import WebSocketSource  # noqa: PLC0415 - only who needs it loads it

            return WebSocketSource(live)
        case SseSpec():
            from sluice.feeds.connectors.sse import SseSource  # noqa: PLC0415

            return SseSource(live)
        case FolderSpec():
            from sluice.feeds.connectors.folder import FolderSource  # noqa: PLC0415

            return FolderSource(home / live.path, live, topic.value.fields, clock, tell)
        case SocketSpec():
            from sluice.feeds.connectors.tcp import SocketSource  # noqa: PLC0415

            return SocketSource(live)
        case _:
            raise TypeError(type(live))
