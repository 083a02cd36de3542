"""Following a live source until told to stop: connecting, listening, and connecting again.

The order of steps makes it safe: an event is settled only when Kafka has acknowledged it and everything before it, and
the cursor is that of the last settled one. So an interrupt, a crash and `kill -9` differ only in how much the source
has to deliver again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import cast

import tenacity

from sluice.clock import Clock
from sluice.errors import NotReadyError, RefusedError, SpecError
from sluice.feeds.following.ending import FollowEnd, FollowUntil
from sluice.feeds.following.manifest import FollowManifest, FollowManifestStore
from sluice.feeds.following.ports import DisconnectedError, EventConnection, EventSource, SourceEndedError
from sluice.feeds.following.progress import NAP_SECONDS, FollowProgress
from sluice.feeds.following.restart import Restarting
from sluice.feeds.following.rules import EventRules
from sluice.feeds.ports import Producer, TopicReader
from sluice.specs.feeds.live import LiveSourceSpec, RemoteSourceSpec
from sluice.specs.model.duration import format_duration

_LONGEST_WAIT, _LONGEST_RETRY_AFTER = 60.0, 3600.0
_LASTING_SECONDS = 10.0
"""A connection that was open for so long was a good one: the next attempt comes soon."""
_BACKOFF = tenacity.wait_random_exponential(multiplier=1, max=_LONGEST_WAIT, min=0.2)


@dataclass(frozen=True)
class FollowedTopic:
    """The topic into which a source is followed.

    Attributes:
        name: of the topic.
        producer: sends to it.
        reader: reads it.
    """

    name: str
    producer: Producer
    reader: TopicReader


@dataclass(frozen=True)
class FeedFollower:
    """One feed that follows a live source into its topic."""

    feed: str
    live: LiveSourceSpec
    _: KW_ONLY
    source: EventSource
    into: FollowedTopic
    store: FollowManifestStore
    clock: Clock
    tell: Callable[[str], None] = lambda _: None

    def follow(
        self,
        until: FollowUntil = FollowUntil(),  # noqa: B008  frozen
        *,
        from_now: bool = False,
        report: Callable[[FollowManifest], None] = lambda _: None,
    ) -> FollowManifest:
        """Send the events of the source as they come; return the manifest at the end.

        Args:
            until: when to end.
            from_now: give up what happened since the last run; the manifest has a gap.
            report: called about once a second.

        Raises:
            SpecError: the source refuses the request for good.
            NotConfiguredError: it refuses the credentials.
            RefusedError: another process follows, the topic is missing, or the source cannot be read.
            UnreachableError: Kafka did not answer; running it again goes on.
        """
        rules = EventRules.of(self.live)
        with self.store.alone():
            restarting = Restarting(
                self.feed, self.into.name, rules, self.into.reader, self.store, self.clock, self.tell
            )
            restart = restarting.restart(from_now=from_now)
            end = FollowEnd(until, self.clock)
            progress = FollowProgress(
                restart,
                rules,
                self.live,
                producer=self.into.producer,
                store=self.store,
                clock=self.clock,
                ending=end.reached,
                report=report,
            )
            self._run(_Connections(self, rules, progress, end))
            return progress.manifest

    def _run(self, connections: _Connections) -> None:
        try:
            connections.run()
        except SourceEndedError as ended:
            self.tell(f"{self.feed}: {ended.message}")
        except (SpecError, NotReadyError, RefusedError):
            connections.progress.finish()  # of what came before, all is acknowledged; the next run begins clean
            raise
        connections.progress.finish()


class _Connections:
    """One connection after the other."""

    def __init__(self, follower: FeedFollower, rules: EventRules, progress: FollowProgress, end: FollowEnd) -> None:
        self.progress = progress
        self._follower, self._rules, self._end = follower, rules, end
        self._clock = follower.clock
        live = follower.live
        self._idle_timeout = live.idle_timeout if isinstance(live, RemoteSourceSpec) else None

    def run(self) -> None:
        """Keep connected until the end."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(DisconnectedError),
            wait=_wait,
            stop=lambda _: self._end.reached(),
            sleep=self._pause,
            before_sleep=self._note,
            retry_error_callback=lambda _: None,
        )
        while not self._end.reached():
            retrying(self._connect)

    def _connect(self) -> None:
        if self._end.reached():  # it was told so while it waited
            return
        cursor = self._rules.asked(self.progress.manifest.cursor) if self._rules.replays else None
        connection = self._follower.source.open(cursor)
        opened = self._clock.monotonic()
        try:
            self.progress.opened()
            self._listen(connection)
        except DisconnectedError as error:
            error.lasted = self._clock.monotonic() - opened
            raise
        finally:
            connection.close()

    def _listen(self, connection: EventConnection) -> None:
        alive = self._clock.monotonic()
        while not self._end.reached():
            received = connection.receive(NAP_SECONDS)
            now = self._clock.monotonic()
            if received is not None:
                alive = now
                self.progress.lived()
            elif self._idle_timeout is not None and now - alive >= self._idle_timeout.total_seconds():
                raise DisconnectedError(f"Nothing came for {format_duration(self._idle_timeout)}.")
            for each in received or ():
                if self.progress.take(each):
                    self._end.heard()
            self.progress.collect()

    def _pause(self, seconds: float) -> None:
        due = self._clock.monotonic() + seconds
        while (left := due - self._clock.monotonic()) > 0 and not self._end.reached():
            self._clock.sleep(min(left, NAP_SECONDS))

    def _note(self, state: tenacity.RetryCallState) -> None:
        error = _error_of(state)
        self.progress.disconnected(error.message)
        wait = state.next_action.sleep if state.next_action else 0
        self._follower.tell(f"{self._follower.feed}: {error.message} The next attempt is in {wait:.0f} seconds.")


def _wait(state: tenacity.RetryCallState) -> float:
    error = _error_of(state)
    if error.lasted >= _LASTING_SECONDS:
        state.attempt_number = 1
    return max(_BACKOFF(state), min(error.retry_after, _LONGEST_RETRY_AFTER))


def _error_of(state: tenacity.RetryCallState) -> DisconnectedError:
    return cast("DisconnectedError", state.outcome and state.outcome.exception())
