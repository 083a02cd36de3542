"""The end of a topic after a sender died: what it had sent may be hidden, or still be on its way to the broker."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.clock import Clock
from sluice.errors import RefusedError
from sluice.feeds.manifest_file import TopicManifest
from sluice.feeds.ports import TopicReader

_QUIET_SECONDS = 1.0
_LONGEST_SECONDS = 10.0
"""What a dead sender has on its way arrives sooner: what still comes then is somebody else's."""


def refuse_hidden(manifest: TopicManifest, held: Mapping[int, int]) -> None:
    """Make sure that no open transaction hides what a sender left.

    Args:
        manifest: of the feed that was being sent.
        held: per partition, how many of the last records an open transaction holds back.

    Raises:
        RefusedError: one does.
    """
    if held:
        counts = ", ".join(f"{count:,} of partition {partition}" for partition, count in sorted(held.items()))
        raise RefusedError(
            f"An open transaction of another producer hides the last offsets of {manifest.topic} ({counts}), which may "
            f"hold records of the feed {manifest.feed}: they might be sent twice.",
            fix="run the command again when it has ended; one that hangs is ended by kafka-transactions.sh abort.",
        )


def quiet_ends(reader: TopicReader, clock: Clock) -> Mapping[int, int]:
    """Return the end offsets per partition once each has not moved for a second, or others never pause.

    What a killed sender had handed to the network may still be on its way to the broker.
    """
    until = clock.monotonic() + _LONGEST_SECONDS
    ends = reader.extent().ends
    moving = set(ends)
    while moving and clock.monotonic() < until:
        clock.sleep(_QUIET_SECONDS)
        before, ends = ends, reader.extent().ends
        moving = {partition for partition in moving if ends[partition] != before[partition]}
    return ends
