"""Reports streams to lineage: the watcher's observations, made into events by another thread.

The driver does not report itself: a killed one could not, and no stream depends on a service that it does not need.
The watcher only hands over records; the costly part (tables, specs, the service) runs in the other thread.

Invariants:
* START is the first event of an attempt, and its end is sent once this process has observed it;
* an end that no watcher observed is sent by the watcher of the next attempt, if it is not long ago;
* an event that is sent twice, by two watchers or a restarted one, is the same event.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sluice.clock import Clock, SystemClock
from sluice.lineage.emitter import Lineage, MakeEvents, lineage
from sluice.project.project import Project
from sluice.settings import settings
from sluice.streams.health.batch_log import newest_batch
from sluice.streams.health.observation import Observation
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt, AttemptState
from sluice.streams.life.driver_files import ended_alone
from sluice.streams.life.status import UnitStatus

if TYPE_CHECKING:
    from sluice.lineage.emitter import RunEvent
    from sluice.project.lineage_map import LineageMap

UNWATCHED = timedelta(days=7)
"""How old an unobserved end may be to be sent: a stack that was taken down with its streams returns after a weekend."""
_EARLIER = 5
"""Earlier attempts that are checked for unobserved ends: a unit that fails repeatedly waits longer each time."""
_AGAIN_SECONDS = 10.0
"""When to retry events that cannot be made yet: a triggerer starts before its stack says where Kafka is."""


@dataclass
class _Sent:
    """What this process has sent about a unit's newest attempt."""

    generation: int
    ended: bool = False
    alone: set[str] = field(default_factory=set)
    at: float | None = None


class StreamLineage:
    """Offers events of streams. Its methods return at once, raise nothing, and may be called by several threads.

    Args:
        clock: gives the time.
        to: takes the events; None: no lineage is configured.
        every_seconds: between two RUNNING events of a stream.
    """

    def __init__(self, clock: Clock | None, to: Lineage | None, every_seconds: float) -> None:
        self._clock = clock or SystemClock()
        self._to = to
        self._every = every_seconds
        self._sent: dict[str, _Sent] = {}
        self._again: dict[str, float] = {}
        self._lock = threading.Lock()
        self._map: tuple[Project, LineageMap] | None = None

    @classmethod
    def configured(cls, clock: Clock | None) -> StreamLineage:
        """Return one that sends by the configured transport, or nowhere."""
        return cls(clock, lineage(), settings().lineage_seconds)

    def observed(self, project: Project, statuses: Mapping[str, UnitStatus]) -> None:
        """Report attempts that have begun or ended."""
        if self._to is None:
            return
        for status in statuses.values():
            # an attempt that waits for capacity has no run yet
            if status.attempt is not None and status.attempt.state is not AttemptState.INTENT:
                for make in self._news(project, status.attempt):
                    self._offer(status.unit, make)

    def _news(self, project: Project, attempt: Attempt) -> list[MakeEvents]:
        """Return the offers that an observation makes due, and remember them as sent."""
        unit, makes = attempt.unit, list[MakeEvents]()
        with self._lock:
            if self._clock.monotonic() < self._again.get(unit, 0.0):
                return []
            before = self._sent.get(unit)
            if before is None or before.generation != attempt.generation:
                self._sent[unit] = _Sent(attempt.generation)
                makes.append(lambda: self._unwatched(project, attempt, before))
                makes.append(lambda: self._begun(project, attempt))
            sent = self._sent[unit]
            if attempt.state is AttemptState.ENDED and not sent.ended:
                sent.ended = True
                makes.append(lambda: self._ended(project, attempt))
        return makes

    def _offer(self, unit: str, make: MakeEvents, *, expendable: bool = False) -> None:
        """Offer events. If they cannot be made, the unit is forgotten, so that all of them are sent a little later."""

        def made() -> list[RunEvent]:
            try:
                return list(make())
            except Exception:
                with self._lock:
                    self._sent.pop(unit, None)
                    self._again[unit] = self._clock.monotonic() + _AGAIN_SECONDS
                raise

        if self._to is not None:
            self._to.offer(made, expendable=expendable)

    def judged(
        self,
        project: Project,
        status: UnitStatus,
        observations: Mapping[str, Observation],
        verdicts: Mapping[str, Verdict],
    ) -> None:
        """Report from time to time that streams run, and at once that one has ended although its driver lives."""
        attempt = status.attempt
        if self._to is None or attempt is None or attempt.state is not AttemptState.BOUND:
            return
        ended = {stream: seen.ended_alone for stream, seen in observations.items() if seen.ended_alone is not None}
        over = {stream for stream, failure in ended.items() if failure.again_at is None}
        with self._lock:
            sent, now = self._sent.get(status.unit), self._clock.monotonic()
            if sent is None or sent.generation != attempt.generation:
                return  # START comes first
            failed, sent.alone = over - sent.alone, sent.alone | over
            due = sent.at is None or now - sent.at >= self._every
            sent.at = now if due else sent.at
        if failed:
            self._offer(attempt.unit, lambda: self._ended(project, attempt, failed))
        if due:
            verdicts_at = {
                stream: (observations[stream].at, verdict)
                for stream, verdict in verdicts.items()
                if stream not in ended
            }
            self._offer(attempt.unit, lambda: self._running(project, attempt, verdicts_at), expendable=True)

    def _unwatched(self, project: Project, attempt: Attempt, known: _Sent | None) -> Iterator[RunEvent]:
        """Yield the unsent events of the attempts before one; `known`: what this process sent last."""
        limit, sent = self._clock.now() - UNWATCHED, known or _Sent(0)
        for earlier in reversed(project.records.registry().attempts(attempt.unit, newest=_EARLIER)):
            is_known = earlier.generation == sent.generation
            if not sent.generation <= earlier.generation < attempt.generation or (is_known and sent.ended):
                continue
            if earlier.ended_at is not None and earlier.ended_at >= limit:
                if not is_known:
                    yield from self._begun(project, earlier)
                yield from self._ended(project, earlier)

    def _begun(self, project: Project, attempt: Attempt) -> Iterator[RunEvent]:
        yield from (job.started(attempt) for job in self._mapped(project).streams(attempt.unit))

    def _running(
        self, project: Project, attempt: Attempt, verdicts_at: Mapping[str, tuple[datetime, Verdict]]
    ) -> Iterator[RunEvent]:
        for job in self._mapped(project).streams(attempt.unit):
            if job.stream in verdicts_at:
                at, verdict = verdicts_at[job.stream]
                batch = newest_batch(project.folder.batch_log(job.stream))
                read = batch.read if batch is not None and batch.generation == attempt.generation else None
                yield job.running(attempt, at, verdict, read)

    def _ended(self, project: Project, attempt: Attempt, only: set[str] | None = None) -> Iterator[RunEvent]:
        mapped = self._mapped(project)
        for job in mapped.streams(attempt.unit, refresh=True):
            if only is None or job.stream in only:
                alone = ended_alone(project.folder.progress_file(job.stream), attempt.generation)
                yield job.ended(attempt, alone, mapped.versions_of(job.stream, attempt))

    def _mapped(self, project: Project) -> LineageMap:
        """Return what a project's streams read and write. Called in the thread that makes events."""
        from sluice.project.lineage_map import LineageMap  # noqa: PLC0415 - it imports tables and the client

        if self._map is None or self._map[0] is not project:
            self._map = project, LineageMap(project)
        return self._map[1]
