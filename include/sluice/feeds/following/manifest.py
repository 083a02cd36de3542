"""The manifest of a feed that follows a live source: how far it is, what it counted, and what it missed.

Invariant: every event up to `cursor` is in the topic, or a gap is on record; events behind it whose records are in the
topic lie at `replay_offsets` or beyond. The file is replaced about once a second, and may be old, but never wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from sluice.feeds.following.rules import FeedEvent
from sluice.feeds.manifest_file import ManifestFile, TopicManifest
from sluice.topics.records import RecordPosition

MOST_GAPS = 1000
Fate = Literal["sent", "found", "repeated", "refused"]
"""What became of an event: sent; found in the topic, where a run that was killed had sent it; a repetition of one that
is there; or refused, because no record may be so large."""


class Gap(BaseModel):
    """A time of which events may be missing.

    Attributes:
        since: from when on (UTC).
        until: up to when (UTC).
        why: in words.
    """

    model_config = ConfigDict(extra="forbid")

    since: datetime
    until: datetime
    why: str


class FollowManifest(TopicManifest):
    """One live feed in one topic.

    Attributes:
        cursor_of: what the cursor means: one of another meaning is worth nothing.
        following: a run is in progress, or did not end cleanly.
        cursor: everything up to it is acknowledged; None: the source has none, or sent none yet.
        cursor_at: its time, where it is one, else when its event was received (UTC).
        last_identity: of the event at the cursor.
        known_offsets: per partition, the offset up to which records of the feed are counted here, but for `uncounted`.
        uncounted: per partition, offsets of records that a killed run had sent, and that did not come again yet. A
            source may deliver them again in another order, so some below the known offset can be missing.
        replay_offsets: per partition, the offset from which on the topic has events that may come again.
        records: events that are in the topic, each counted once.
        repeated: events that came again and were not sent again.
        no_object: records that are no JSON objects.
        no_identity: records that cannot be recognised, although an `identity` is declared; they may be doubled.
        disconnects: connections that ended or could not be made.
        gaps: the newest thousand.
        older_gaps: how many there were before those.
        started_at: when the feed was followed for the first time (UTC).
        followed_until: everything that was received until then is acknowledged (UTC).
    """

    cursor_of: str
    following: bool = False
    cursor: JsonValue = None
    cursor_at: datetime | None = None
    last_identity: str | None = None
    known_offsets: dict[int, int] = Field(default_factory=dict)
    uncounted: dict[int, set[int]] = Field(default_factory=dict)
    replay_offsets: dict[int, int] = Field(default_factory=dict)
    records: int = 0
    repeated: int = 0
    no_object: int = 0
    no_identity: int = 0
    disconnects: int = 0
    gaps: list[Gap] = Field(default_factory=list)
    older_gaps: int = 0
    started_at: datetime
    followed_until: datetime | None = None

    def settle(self, event: FeedEvent, fate: Fate, position: RecordPosition | None, *, ordered: bool) -> None:
        """Note that an event, and everything before it, is accounted for.

        Args:
            event: the next one in the order in which they came.
            fate: what became of it.
            position: of its record, where that is known.
            ordered: cursors are times, of which the greatest counts.
        """
        if fate in {"sent", "found"}:
            self.count(event)
        self.repeated += fate == "repeated"
        if position is not None:
            self.know(position)
        self.followed_until = event.received
        if event.cursor is None or (ordered and self.cursor_at is not None and event.at < self.cursor_at):
            return
        self.cursor, self.cursor_at, self.last_identity = event.cursor, event.at, event.identity

    def count(self, event: FeedEvent) -> None:
        """Count an event that is in the topic."""
        self.records += 1
        self.no_object += not event.is_object

    def know(self, position: RecordPosition) -> None:
        """Note that the record at a position is counted, and those before it are known."""
        known = self.known_offsets.get(position.partition, 0)
        self.known_offsets[position.partition] = max(known, position.offset + 1)
        self.uncounted.get(position.partition, set()).discard(position.offset)

    def counts(self, position: RecordPosition) -> bool:
        """Return whether the record at a position is counted here."""
        below = position.offset < self.known_offsets.get(position.partition, 0)
        return below and position.offset not in self.uncounted.get(position.partition, ())

    def miss(self, gap: Gap) -> None:
        """Put a gap on record."""
        self.gaps.append(gap)
        self.older_gaps += max(0, len(self.gaps) - MOST_GAPS)
        self.gaps = self.gaps[-MOST_GAPS:]

    def move_cursor(self, cursor: JsonValue) -> None:
        """Go on from another position; None: from now on."""
        self.cursor = cursor
        self.cursor_at = self.last_identity = None

    def tail_start(self, beginnings: Mapping[int, int], *, exactly: bool) -> dict[int, int]:
        """Return the offsets from which on the topic has events that the source may deliver again.

        Args:
            beginnings: the first offset per partition that there still is.
            exactly: nothing before the cursor comes again.
        """
        start = self.known_offsets if exactly else self.replay_offsets
        return {partition: max(first, start.get(partition, first)) for partition, first in beginnings.items()}


class FollowManifestStore(ManifestFile[FollowManifest]):
    """Keeps the manifest of a feed that follows a live source."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder,
            FollowManifest,
            name="following",
            rebuilt="the next `sluice feed follow` begins with what happens from then on",
        )
