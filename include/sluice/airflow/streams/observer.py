"""Observes units for their watcher: the control database, the launcher, checkpoints and Kafka, through the project."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sluice.airflow.runtime import open_project
from sluice.airflow.streams.mirroring import Mirrors
from sluice.airflow.streams.stream_lineage import StreamLineage
from sluice.clock import Clock
from sluice.project.fleet_observer import FleetObserver, KnownCheckpoints
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.streams.deadlines.watched import DeadlinesWatched
from sluice.streams.health.looks import Keeping, StreamLook, missed_in, rates_of
from sluice.streams.health.observation import Evidence
from sluice.streams.health.verdict_records import GivenVerdict, RecordedVerdict
from sluice.streams.health.watched import StreamsWatched
from sluice.streams.life.sighting import Sighting

log = logging.getLogger(__name__)


@dataclass
class _Memory:
    """What is remembered of one unit between two looks. All of it may be forgotten: less is seen then."""

    streams: StreamsWatched = field(default_factory=StreamsWatched)
    deadlines: DeadlinesWatched = field(default_factory=DeadlinesWatched)


class ProjectObserver:
    """Opens the project once, and again when a spec file has changed: a triggerer outlives many edits."""

    def __init__(
        self,
        open_: Callable[[], Project] = open_project,
        clock: Clock | None = None,
        lineage: StreamLineage | None = None,
    ) -> None:
        self._project = ReloadingProject(open_, clock)
        self._observer: tuple[Project, FleetObserver] | None = None
        self._lineage = lineage or StreamLineage.configured(clock)
        self._mirrors = Mirrors(clock)
        self._memories: dict[str, _Memory] = {}
        self._known: KnownCheckpoints = {}
        self._keeping = Keeping()

    def look(self, units: Sequence[str]) -> Mapping[str, Sighting]:
        """Return what is recorded and seen of units; proven deaths are put on record."""
        project = self._project.current()
        looks = project.streams.lives().record_ends(units)
        for unit, error in looks.failed.items():
            log.warning("Could not look at unit %s; that proves nothing, and is tried again.", unit, exc_info=error)
        self._lineage.saw(project, looks.seen)
        return looks.seen

    def record_verdicts(self, seen: Mapping[str, Sighting]) -> None:
        """Record the verdicts on the units' streams, and what was observed of them.

        A unit with broken specs gets no verdict, and neither does one that never had a driver.
        """
        project = self._project.current()
        observer = self._observer_of(project)
        sightings = {
            u: sighting for u, sighting in seen.items() if sighting.attempt is not None and observer.declares(u)
        }
        for unit in seen.keys() - sightings.keys():
            self._memories.pop(unit, None)
            observer.forget(unit)
        evidence = observer.evidence(sightings)
        records = project.records.registry().newest_verdicts(list(sightings))
        given: list[GivenVerdict] = []
        failed: dict[str, Exception] = {}
        for unit, sighting in sightings.items():
            try:
                memory = self._memories.setdefault(unit, _Memory())
                given += _judged(memory, sighting, evidence[unit], records.get(unit, {}))
                self._lineage.judged(project, sighting, evidence[unit], memory.streams.verdicts)
                _watch_deadlines(memory, project, evidence[unit])
            except Exception as error:  # noqa: BLE001 - whatever happens to one, the others must still be judged
                failed[unit] = error
        for unit, fault in failed.items():
            log.warning("Could not judge unit %s; that is tried again.", unit, exc_info=fault)
        project.records.registry().record_verdicts(given)
        self._keep(project, {u: sightings[u] for u in sightings if u not in failed}, evidence)
        self._mirrors.reflect(project, evidence)

    def _keep(
        self, project: Project, seen: Mapping[str, Sighting], evidence: Mapping[str, Mapping[str, Evidence]]
    ) -> None:
        """Keep the newest observations, for pages, alerts and others that do not observe."""
        begun, looks, good_for = time.thread_time(), [], self._keeping.good_for
        for unit, sighting in seen.items():
            memory, generation = self._memories[unit], _generation(sighting)
            streams, since = memory.streams, memory.streams.since
            for stream, look in evidence[unit].items():
                verdict, deadlines = streams.verdicts[stream], memory.deadlines.certain[stream]
                if self._keeping.due(unit, stream, generation, verdict, look.at, missed=missed_in(deadlines)):
                    rates = rates_of(streams.windows[stream], look.at)
                    lasts = since[stream]
                    looks.append(
                        StreamLook(unit, stream, generation, look.at, verdict, rates, good_for, lasts, deadlines)
                    )
        project.records.observations().keep(looks)
        self._keeping.kept(looks, time.thread_time() - begun)

    def _observer_of(self, project: Project) -> FleetObserver:
        """Return the observer of a project; that of another one is closed."""
        if self._observer is None or self._observer[0] is not project:
            if self._observer is not None:
                self._observer[1].close()
            self._observer = project, project.health.observer(self._known)
        return self._observer[1]


def _watch_deadlines(memory: _Memory, project: Project, evidence: Mapping[str, Evidence]) -> None:
    declared = {stream: project.catalog.deadlines_of(stream) for stream in evidence}
    memory.deadlines.observe(declared, evidence, memory.streams.verdicts, memory.streams.windows)


def _judged(
    memory: _Memory, sighting: Sighting, evidence: Mapping[str, Evidence], records: Mapping[str, RecordedVerdict]
) -> list[GivenVerdict]:
    """Return those verdicts of a unit that are worth recording."""
    generation = _generation(sighting)
    found = memory.streams.judge(evidence, records, generation)
    return [GivenVerdict(sighting.unit, stream, generation, verdict) for stream, verdict in found.items()]


def _generation(sighting: Sighting) -> int:
    return 0 if sighting.attempt is None else sighting.attempt.generation
