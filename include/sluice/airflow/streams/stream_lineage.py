"""Tells lineage of streams: what the watcher sees anyway, told by another thread.

The driver does not tell it: one that is killed could not say so, and no stream shall know of a service that it does not
need. Looks only hand over records; what costs something (tables, specs, the service) is the other thread's.

Invariants:
* each attempt is told to have begun before anything else of it is, and to have ended once this process has seen that;
* an end that nobody watched is told by whoever watches next, if it is not long ago;
* whatever is told twice, by two watchers or one that begins anew, is the same event.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from sluice.clock import Clock, SystemClock
from sluice.lineage.event import Event, Lineage
from sluice.lineage.streams import began, ended, goes_on, has_begun
from sluice.lineage.transport.emitter import lineage
from sluice.project.project import Project
from sluice.settings import settings
from sluice.streams.failures.last_report import ended_alone
from sluice.streams.health.batch_log import newest_batch
from sluice.streams.health.observation import Evidence
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt, AttemptState
from sluice.streams.life.sighting import Sighting

if TYPE_CHECKING:
    from sluice.project.lineage_map import LineageMap

UNWATCHED = timedelta(days=7)
"""An end of so long ago is told by whoever begins to watch the attempt after it: a stack that was taken down with its
streams comes back after a weekend."""
_EARLIER = 5
"""Attempts that are looked back at: a unit that falls again and again waits longer each time."""
_AGAIN_SECONDS = 10.0
"""What cannot be made now may be a little later: a triggerer is there before its stack says where Kafka is."""

_Make: TypeAlias = Callable[[], Iterable[Event]]


@dataclass
class _Told:
    """What this process has told of a unit's newest attempt."""

    generation: int
    ended: bool = False
    alone: set[str] = field(default_factory=set)
    at: float | None = None


class StreamLineage:
    """Offers events of streams. Its methods return at once, raise nothing, and may be called by several threads.

    Args:
        clock: gives the time.
        to: takes the events; None: nobody does.
        every_seconds: between two events of a stream that goes on.
    """

    def __init__(self, clock: Clock | None, to: Lineage | None, every_seconds: float) -> None:
        self._clock = clock or SystemClock()
        self._to = to
        self._every = every_seconds
        self._told: dict[str, _Told] = {}
        self._again: dict[str, float] = {}
        self._lock = threading.Lock()
        self._map: tuple[Project, LineageMap] | None = None

    @classmethod
    def configured(cls, clock: Clock | None) -> StreamLineage:
        """Return what tells those who want to know; nobody where nothing is configured."""
        return cls(clock, lineage(), settings().lineage_seconds)

    def saw(self, project: Project, seen: Mapping[str, Sighting]) -> None:
        """Tell of attempts that have begun or ended.

        Args:
            project: says what streams read and write.
            seen: what is recorded and seen, by unit.
        """
        if self._to is None:
            return
        for sighting in seen.values():
            if sighting.attempt is not None and has_begun(sighting.attempt):
                for make in self._news(project, sighting.attempt):
                    self._offer(sighting.unit, make)

    def _news(self, project: Project, attempt: Attempt) -> list[_Make]:
        """Return what makes the events that are due by a look, and remember that they are told."""
        unit, makes = attempt.unit, list[_Make]()
        with self._lock:
            if self._clock.monotonic() < self._again.get(unit, 0.0):
                return []
            before = self._told.get(unit)
            if before is None or before.generation != attempt.generation:
                self._told[unit] = _Told(attempt.generation)
                makes.append(lambda: self._unwatched(project, attempt, before))
                makes.append(lambda: self._begun(project, attempt))
            told = self._told[unit]
            if attempt.state is AttemptState.ENDED and not told.ended:
                told.ended = True
                makes.append(lambda: self._ended(project, attempt))
        return makes

    def _offer(self, unit: str, make: _Make, *, spare: bool = False) -> None:
        """Offer events. If they cannot be made, the unit is forgotten, so that all of them are told a little later."""

        def made() -> list[Event]:
            try:
                return list(make())
            except Exception:
                with self._lock:
                    self._told.pop(unit, None)
                    self._again[unit] = self._clock.monotonic() + _AGAIN_SECONDS
                raise

        if self._to is not None:
            self._to.offer(made, spare=spare)

    def judged(
        self,
        project: Project,
        sighting: Sighting,
        evidence: Mapping[str, Evidence],
        verdicts: Mapping[str, Verdict],
    ) -> None:
        """Tell now and then that streams go on, and at once that one has ended though its driver lives.

        Args:
            project: says what streams read and write.
            sighting: what is recorded and seen of the unit.
            evidence: of its streams.
            verdicts: what was made of that.
        """
        attempt = sighting.attempt
        if self._to is None or attempt is None or attempt.state is not AttemptState.BOUND:
            return
        ended = {stream: look.ended_alone for stream, look in evidence.items() if look.ended_alone is not None}
        over = {stream for stream, failure in ended.items() if failure.again_at is None}
        with self._lock:
            told, now = self._told.get(sighting.unit), self._clock.monotonic()
            if told is None or told.generation != attempt.generation:
                return  # what has not begun goes on later
            fell, told.alone = over - told.alone, told.alone | over
            due = told.at is None or now - told.at >= self._every
            told.at = now if due else told.at
        if fell:
            self._offer(attempt.unit, lambda: self._ended(project, attempt, fell))
        if due:
            looks = {
                stream: (evidence[stream].at, verdict) for stream, verdict in verdicts.items() if stream not in ended
            }
            self._offer(attempt.unit, lambda: self._going_on(project, attempt, looks), spare=True)

    def _unwatched(self, project: Project, attempt: Attempt, known: _Told | None) -> Iterator[Event]:
        """Yield what nobody has told of the attempts before one; `known`: what this process has told last."""
        limit, told = self._clock.now() - UNWATCHED, known or _Told(0)
        for earlier in reversed(project.records.registry().attempts(attempt.unit, newest=_EARLIER)):
            is_known = earlier.generation == told.generation
            if not told.generation <= earlier.generation < attempt.generation or (is_known and told.ended):
                continue
            if earlier.ended_at is not None and earlier.ended_at >= limit:
                if not is_known:
                    yield from self._begun(project, earlier)
                yield from self._ended(project, earlier)

    def _begun(self, project: Project, attempt: Attempt) -> Iterator[Event]:
        yield from (began(job, attempt) for job in self._mapped(project).streams(attempt.unit))

    def _going_on(
        self, project: Project, attempt: Attempt, looks: Mapping[str, tuple[datetime, Verdict]]
    ) -> Iterator[Event]:
        for job in self._mapped(project).streams(attempt.unit):
            if job.stream in looks:
                at, verdict = looks[job.stream]
                batch = newest_batch(project.folder.batch_log(job.stream))
                read = batch.read if batch is not None and batch.generation == attempt.generation else None
                yield goes_on(job, attempt, at, verdict, read)

    def _ended(self, project: Project, attempt: Attempt, only: set[str] | None = None) -> Iterator[Event]:
        mapped = self._mapped(project)
        for job in mapped.streams(attempt.unit, refresh=True):
            if only is None or job.stream in only:
                alone = ended_alone(project.folder.progress_file(job.stream), attempt.generation)
                yield ended(job, attempt, alone, mapped.versions_of(job.stream, attempt))

    def _mapped(self, project: Project) -> LineageMap:
        """Return what a project's streams read and write; for the thread that makes events."""
        from sluice.project.lineage_map import LineageMap  # noqa: PLC0415 - DAG files import this, and need no tables

        if self._map is None or self._map[0] is not project:
            self._map = project, LineageMap(project)
        return self._map[1]
