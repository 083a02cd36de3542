"""Events on their way into the topic: sent once, settled in the order in which they came, and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from sluice.clock import Clock
from sluice.feeds.following.manifest import FollowManifest, FollowManifestStore, Gap
from sluice.feeds.following.ports import ReceivedEvent
from sluice.feeds.following.replay_window import ReplayWindow
from sluice.feeds.following.restart import Restart
from sluice.feeds.following.rules import EventRules, FeedEvent
from sluice.feeds.following.unacknowledged import SettledEvent, UnacknowledgedEvents
from sluice.feeds.ports import Producer
from sluice.specs.feeds.live import LiveSourceSpec
from sluice.specs.model.duration import format_duration
from sluice.topics.records import RecordTooLargeError

MOST_BYTES = 1_000_000
"""Of a key and a value: by default, Kafka takes no records that are much larger."""
NAP_SECONDS = 0.2
"""How often acknowledgements are counted while nothing else happens."""
_SAVE_SECONDS = 1.0
_FORGOTTEN = "the source no longer had the events that follow the cursor"


class FollowProgress:
    """What was received, from its sending until the manifest has it."""

    def __init__(
        self,
        restart: Restart,
        rules: EventRules,
        live: LiveSourceSpec,
        *,
        producer: Producer,
        store: FollowManifestStore,
        clock: Clock,
        ending: Callable[[], bool],
        report: Callable[[FollowManifest], None],
    ) -> None:
        self.manifest = restart.manifest
        self._recognition, self._rules = restart.recognition, rules
        self._window = ReplayWindow(rules.overlap, restart.manifest.replay_offsets)
        self._missed_why = restart.missed
        self._producer, self._store, self._clock = producer, store, clock
        self._ending, self._report = ending, report
        self._unacknowledged = UnacknowledgedEvents(live.max_unacknowledged)
        self._rate = live.rate
        self._due = self._saved = clock.monotonic()
        self._alive: datetime | None = None
        self._known_until: datetime | None = None

    def opened(self) -> None:
        """Note that a connection is open: what was missed before it is on record."""
        now, manifest, retention = self._clock.now(), self.manifest, self._rules.retention
        since = manifest.followed_until
        if since is not None and self._missed_why:
            manifest.miss(Gap(since=since, until=now, why=self._missed_why))
        elif since is not None and retention is not None and now - since > retention:
            why = f"the source keeps events for {format_duration(retention)}, and was not followed for longer"
            manifest.miss(Gap(since=since, until=now - retention, why=why))
        self._missed_why = ""
        sure = self._rules.epoch is not None and self._rules.overlap and manifest.last_identity is not None
        self._known_until = manifest.cursor_at if sure else None
        manifest.following = True
        self._alive = now
        self.save()

    def lived(self) -> None:
        """Note a sign of life of the source."""
        self._alive = self._clock.now()

    def disconnected(self, why: str) -> None:
        """Note that the connection ended, or could not be made; what it brought is acknowledged first."""
        self._account(self._unacknowledged.drain())
        self.manifest.disconnects += 1
        self.save()
        self._alive = None
        if not self._resumes and self.manifest.followed_until is not None:
            self._missed_why = self._missed_why or f"{why} The source cannot be asked for what happened meanwhile."

    def take(self, received: ReceivedEvent) -> bool:
        """Send an event, unless the topic has it; return whether it did not."""
        event = self._rules.read(received, self._clock.now())
        self._account(self._unacknowledged.make_room())
        stored = None if event.identity is None else self._recognition.take(event.identity)
        self._compare(event, known=stored is not None)
        if stored is not None:
            event, fate = replace(event, at=stored.at), "repeated" if stored.counted else "found"
            position = None if stored.counted else stored.position
            self._unacknowledged.add_settled(SettledEvent(event, fate, position))  # type: ignore[arg-type]
        elif _size(event) > MOST_BYTES:
            self._refuse(event)
        else:
            self._send(event)
        return stored is None

    def collect(self) -> None:
        """Count what is acknowledged, without waiting."""
        self._account(self._unacknowledged.collect())

    def finish(self) -> None:
        """Wait until everything is acknowledged, and say so."""
        self._account(self._unacknowledged.drain())
        self.manifest.following = self._recognition.pending
        self.save()

    def save(self) -> None:
        """Replace the manifest."""
        manifest, now = self.manifest, self._clock.monotonic()
        if self._alive is not None and not len(self._unacknowledged):
            manifest.followed_until = self._alive
        if manifest.cursor_at is not None:
            self._window.mark(manifest.cursor_at, manifest.known_offsets)
            self._recognition.forget(manifest.cursor_at - self._rules.overlap)
        manifest.replay_offsets = self._window.offsets
        self._saved = now
        self._store.save(manifest)
        self._report(manifest)

    @property
    def _resumes(self) -> bool:
        return self._rules.by_content or (self._rules.replays and self.manifest.cursor is not None)

    def _compare(self, event: FeedEvent, *, known: bool) -> None:
        """Notice that a source asked for what it delivered already begins with something later: the rest is lost."""
        if self._known_until is None or event.cursor is None:
            return
        if not known and event.at > self._known_until:
            self.manifest.miss(Gap(since=self._known_until, until=event.at, why=_FORGOTTEN))
        if known or event.at > self._known_until:
            self._known_until = None

    def _send(self, event: FeedEvent) -> None:
        self._keep_pace()
        try:
            acknowledgement = self._producer.send(event.key, event.value)
        except RecordTooLargeError:
            self._refuse(event)
            return
        if event.identity is not None:
            self._recognition.sent(event.identity, event.at)
        elif self._rules.identity:
            self.manifest.no_identity += 1
        self._unacknowledged.add(event, acknowledgement)

    def _refuse(self, event: FeedEvent) -> None:
        why = f"an event of {_size(event):,} bytes is larger than a record may be, and was not sent"
        self.manifest.miss(Gap(since=event.at, until=event.at, why=why))
        self._unacknowledged.add_settled(SettledEvent(event, "refused"))

    def _keep_pace(self) -> None:
        """Wait until one more may be sent; at the end not: only what was received already is left."""
        if self._rate is None:
            return
        while (left := self._due - self._clock.monotonic()) > 0 and not self._ending():
            self.collect()
            self._clock.sleep(min(left, NAP_SECONDS))
        self._due = max(self._due, self._clock.monotonic()) + 1 / self._rate

    def _account(self, settled: Iterable[SettledEvent]) -> None:
        ordered = self._rules.epoch is not None
        for each in settled:
            self.manifest.settle(each.event, each.fate, each.position, ordered=ordered)
        if self._clock.monotonic() - self._saved >= _SAVE_SECONDS:
            self.save()


def _size(event: FeedEvent) -> int:
    return len(event.value) + len(event.key or b"")
