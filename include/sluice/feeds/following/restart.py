"""Where following goes on: from the manifest, and from what the topic has beyond it.

A follower may die at any moment, so nothing behind its last manifest is believed from memory. The topic is read from
there; the source is asked to go on from the cursor, and what it delivers again is recognised.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sluice.clock import Clock
from sluice.feeds.following.manifest import FollowManifest, FollowManifestStore
from sluice.feeds.following.ports import ReceivedEvent
from sluice.feeds.following.recognition import ByContent, ByIdentity, Recognition, StoredEvent
from sluice.feeds.following.rules import EventRules
from sluice.feeds.ports import TopicReader
from sluice.feeds.topic_tail import quiet_ends, refuse_hidden
from sluice.topics.records import RecordPosition

FROM_NOW = "the feed was told to go on from now"
_NO_REPLAY = "the feed was not followed, and its source cannot be asked for what happened meanwhile"
_OTHER_CURSOR = "the feed was not followed, and its cursor means something else since its spec was changed"


@dataclass(frozen=True)
class Restart:
    """How following begins.

    Attributes:
        recognition: of the events that are in the topic and may come again.
        missed: why events since `followed_until` of the manifest are missing; empty: none are.
    """

    manifest: FollowManifest
    recognition: Recognition
    missed: str


@dataclass(frozen=True)
class Restarting:
    """Finds out where a feed goes on."""

    feed: str
    topic: str
    rules: EventRules
    reader: TopicReader
    store: FollowManifestStore
    clock: Clock
    tell: Callable[[str], None]

    def restart(self, *, from_now: bool) -> Restart:
        """Read the manifest, and the topic from there.

        Args:
            from_now: give up the cursor.

        Raises:
            RefusedError: the topic does not exist, or an open transaction hides what a killed run had sent.
            UnreachableError: the topic could not be read.
            CorruptionError: the manifest is none.
        """
        extent = self.reader.extent()
        manifest = self._manifest(extent.topic_id, extent.ends)
        ends = extent.ends
        if manifest.following:
            refuse_hidden(manifest, extent.held)
            ends = quiet_ends(self.reader, self.clock)
        missed = self._missed(manifest, from_now=from_now)
        recognition: Recognition = ByContent() if self.rules.by_content else ByIdentity()
        if self.rules.replays and (manifest.following or not self.rules.by_content):
            self._recognise(manifest, recognition, extent.beginnings, ends)
        elif manifest.following:
            self._count(manifest, extent.beginnings, ends)
        return Restart(manifest, recognition, missed)

    def _manifest(self, topic_id: str, ends: Mapping[int, int]) -> FollowManifest:
        manifest = self.store.load()
        if manifest is not None and manifest.topic_id == topic_id:
            return manifest
        if manifest is not None:
            self.store.retire(manifest)
            self.tell(f"The topic {self.topic} is another one than before: the feed {self.feed} starts over.")
        return FollowManifest(
            feed=self.feed,
            topic=self.topic,
            topic_id=topic_id,
            cursor_of=self.rules.meaning,
            known_offsets=dict(ends),
            replay_offsets=dict(ends),
            started_at=self.clock.now(),
        )

    def _missed(self, manifest: FollowManifest, *, from_now: bool) -> str:
        other = manifest.cursor_of != self.rules.meaning
        manifest.cursor_of = self.rules.meaning
        if from_now and not other:
            manifest.move_cursor(self.rules.given_up(manifest.cursor))
        elif other:
            manifest.move_cursor(None)
        if manifest.followed_until is None:
            return ""
        if from_now:
            return FROM_NOW
        if other:
            return _OTHER_CURSOR
        resumes = self.rules.by_content or (self.rules.replays and manifest.cursor is not None)
        return "" if resumes else _NO_REPLAY

    def _recognise(
        self,
        manifest: FollowManifest,
        recognition: Recognition,
        beginnings: Mapping[int, int],
        ends: Mapping[int, int],
    ) -> None:
        start = manifest.tail_start(beginnings, exactly=self.rules.by_content)
        self._tell_of_lost(manifest, beginnings)
        now = self.clock.now()
        if manifest.last_identity is not None and not self.rules.by_content:
            recognition.found(manifest.last_identity, StoredEvent(manifest.cursor_at or now))
        uncounted = defaultdict[int, set[int]](set)
        for record in self.reader.read(start, ends):
            if record.value is None:
                continue
            event = self.rules.read(ReceivedEvent(record.value), now)
            if event.identity is not None:
                position = RecordPosition(record.partition, record.offset)
                if not (counted := manifest.counts(position)):
                    uncounted[position.partition].add(position.offset)
                recognition.found(event.identity, StoredEvent(event.at, position, counted=counted))
        manifest.uncounted = dict(uncounted)

    def _count(self, manifest: FollowManifest, beginnings: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Count what a killed run has sent behind its manifest: it never comes again, so nothing else would."""
        now = self.clock.now()
        for record in self.reader.read(manifest.tail_start(beginnings, exactly=True), ends):
            if record.value is not None:
                manifest.count(self.rules.read(ReceivedEvent(record.value), now))
            manifest.know(RecordPosition(record.partition, record.offset))

    def _tell_of_lost(self, manifest: FollowManifest, beginnings: Mapping[int, int]) -> None:
        lost = {p: first for p, first in beginnings.items() if manifest.known_offsets.get(p, first) < first}
        if manifest.following and lost:
            self.tell(
                f"The topic {self.topic} no longer has the records that follow the manifest of the feed {self.feed} "
                f"(partitions {', '.join(map(str, sorted(lost)))}): events that were sent at that time may come again."
            )
