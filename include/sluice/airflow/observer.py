"""The watcher's eyes: the control database, the launcher, checkpoints and Kafka, through the project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock

from sluice.airflow.deadline_alerts import DeadlineAlerts
from sluice.airflow.runtime import open_project
from sluice.clock import Clock, SystemClock
from sluice.project import Project
from sluice.settings import settings
from sluice.streams.evidence import Stamps
from sluice.streams.notices import DeadlinesWatched
from sluice.streams.sighting import Sighting
from sluice.streams.watched import StreamsWatched

SpecVersion = tuple[tuple[str, int], ...]
"""Names and change times of all spec files."""

CHECK_SECONDS = 10.0


class ProjectObserver:
    """Opens the project once, and again when a spec file has changed: a triggerer outlives many edits."""

    def __init__(
        self,
        open_: Callable[[], Project] = open_project,
        clock: Clock | None = None,
        alerts: DeadlineAlerts | None = None,
    ) -> None:
        self._open = open_
        self._clock = clock or SystemClock()
        self._project: Project | None = None
        self._version: SpecVersion = ()
        self._checked_at = 0.0
        self._alerts = alerts or DeadlineAlerts(clock=self._clock)
        self._watched: dict[str, StreamsWatched] = {}
        self._deadlines: dict[str, DeadlinesWatched] = {}
        self._lock = Lock()  # looks and verdicts are two threads

    def look(self, unit: str) -> Sighting:
        """Return what is recorded and seen of a unit; a proven death is put on record."""
        return self._current().life(unit).record_end()

    def record_verdicts(self, unit: str) -> None:
        """Record the verdicts of the unit's streams, and have somebody told of deadlines that are missed or met again.

        A unit whose specs are broken has none that could be judged.
        """
        project = self._current()
        registry = project.registry()
        attempt = registry.latest_attempt(unit)
        if attempt is None or unit not in project.catalog.units():
            self._watched.pop(unit, None)
            self._deadlines.pop(unit, None)
            return
        records = {record.stream: record for record in registry.verdicts(unit)}
        watched = self._watched.setdefault(unit, StreamsWatched())
        evidence = project.evidence(unit, known=watched.known, stamps=Stamps.NEVER)
        for stream, verdict in watched.judge(evidence, records, attempt.generation).items():
            registry.record_verdict(unit, stream, attempt.generation, verdict)
        declared = {stream: project.catalog.deadlines_of(stream) for stream in evidence}
        deadlines = self._deadlines.setdefault(unit, DeadlinesWatched())
        for notice in deadlines.notices(declared, evidence, watched.verdicts, watched.windows, registry):
            self._alerts.offer(project, notice)

    def _current(self) -> Project:
        """Return the project; look for changed specs at most every few seconds, not for each of a hundred units."""
        with self._lock:
            if self._project is not None and self._clock.monotonic() - self._checked_at < CHECK_SECONDS:
                return self._project
            self._checked_at = self._clock.monotonic()
            version = _spec_version(settings().home / "include")
            if self._project is None or self._version != version:
                self._project, self._version = self._open(), version
            return self._project


def _spec_version(include: Path) -> SpecVersion:
    return tuple(sorted((str(path), path.stat().st_mtime_ns) for path in include.glob("*/*.yaml")))
