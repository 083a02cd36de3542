"""Observes units for their watcher: the control database, the launcher, checkpoints and Kafka, through the project."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sluice.airflow.runtime import open_project
from sluice.airflow.streams.mirroring import Mirrors
from sluice.airflow.streams.stream_lineage import StreamLineage
from sluice.clock import Clock
from sluice.project.fleet_observer import FleetObserver, KnownCheckpoints
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.streams.deadlines.watched import DeadlinesWatched
from sluice.streams.health.observation import Observation
from sluice.streams.health.recording import NewVerdict, RecordedVerdict
from sluice.streams.health.settlers import upstream_elsewhere
from sluice.streams.health.snapshots import SnapshotPolicy, StreamSnapshot, rates_of
from sluice.streams.health.tracking import StreamTracker
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.status import UnitStatus

log = logging.getLogger(__name__)


@dataclass
class _Memory:
    """What is remembered of one unit between two observations. All of it may be forgotten: less is seen then."""

    streams: StreamTracker = field(default_factory=StreamTracker)
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
        self._snapshot_policy = SnapshotPolicy()

    def observe(self, units: Sequence[str]) -> Mapping[str, UnitStatus]:
        """Return what is recorded and seen of units; proven deaths are put on record."""
        project = self._project.current()
        statuses = project.streams.lives().record_ends(units)
        for unit, error in statuses.failed.items():
            log.warning("Could not check unit %s; that proves nothing, and is tried again.", unit, exc_info=error)
        self._lineage.observed(project, statuses.by_unit)
        return statuses.by_unit

    def record_verdicts(self, statuses: Mapping[str, UnitStatus]) -> None:
        """Record the verdicts on the units' streams, and what was observed of them.

        A unit with broken specs gets no verdict, and neither does one that never had a driver.
        """
        project = self._project.current()
        observer = self._observer_of(project)
        declared = {u: status for u, status in statuses.items() if status.attempt is not None and observer.declares(u)}
        for unit in statuses.keys() - declared.keys():
            self._memories.pop(unit, None)
            observer.forget(unit)
        observations = observer.observations(declared)
        records = project.records.registry().newest_verdicts(list(declared))
        elsewhere = _raw_verdicts(project, observations)
        given: list[NewVerdict] = []
        failed: dict[str, Exception] = {}
        for unit, status in declared.items():
            try:
                memory = self._memories.setdefault(unit, _Memory())
                given += _judged(memory, status, observations[unit], records.get(unit, {}), elsewhere)
                self._lineage.judged(project, status, observations[unit], memory.streams.verdicts)
                declared_deadlines = {stream: project.catalog.deadlines_of(stream) for stream in observations[unit]}
                verdicts, windows = memory.streams.verdicts, memory.streams.windows
                memory.deadlines.observe(declared_deadlines, observations[unit], verdicts, windows)
            except Exception as error:  # noqa: BLE001 - whatever happens to one, the others must still be judged
                failed[unit] = error
        for unit, fault in failed.items():
            log.warning("Could not judge unit %s; that is tried again.", unit, exc_info=fault)
        project.records.registry().record_verdicts(given)
        self._store_snapshots(project, {u: declared[u] for u in declared if u not in failed}, observations)
        self._mirrors.mirror(project, observations)

    def _store_snapshots(
        self,
        project: Project,
        statuses: Mapping[str, UnitStatus],
        observations: Mapping[str, Mapping[str, Observation]],
    ) -> None:
        """Keep the newest observations, for pages, alerts and others that do not observe."""
        begun, snapshots, good_for = time.thread_time(), [], self._snapshot_policy.valid_for
        for unit, status in statuses.items():
            memory, generation = self._memories[unit], _generation(status)
            streams, since = memory.streams, memory.streams.since
            for stream, observation in observations[unit].items():
                snapshot = StreamSnapshot(
                    unit,
                    stream,
                    generation,
                    observation.at,
                    streams.verdicts[stream],
                    valid_for=good_for,
                    since=since[stream],
                    deadlines=memory.deadlines.certain[stream],
                )
                if self._snapshot_policy.due(snapshot):
                    rates = rates_of(streams.windows[stream], observation.at)
                    snapshots.append(replace(snapshot, rates=rates))
        project.records.snapshots().store(snapshots)
        self._snapshot_policy.stored(snapshots, time.thread_time() - begun)

    def _observer_of(self, project: Project) -> FleetObserver:
        """Return the observer of a project; that of another one is closed."""
        if self._observer is None or self._observer[0] is not project:
            if self._observer is not None:
                self._observer[1].close()
            self._observer = project, project.health.observer(self._known)
        return self._observer[1]


def _raw_verdicts(project: Project, observations: Mapping[str, Mapping[str, Observation]]) -> Mapping[str, Verdict]:
    """Return the verdicts on raw streams of other units than the settlers that rest on them.

    Another watcher may look after them, or none: then they are unknown, whatever was remembered here.
    """
    streams = {stream for own in observations.values() for stream in upstream_elsewhere(own)}
    return project.health.verdicts_on_record(streams) if streams else {}


def _judged(
    memory: _Memory,
    status: UnitStatus,
    observations: Mapping[str, Observation],
    records: Mapping[str, RecordedVerdict],
    elsewhere: Mapping[str, Verdict],
) -> list[NewVerdict]:
    """Return those verdicts of a unit that are worth recording."""
    generation = _generation(status)
    verdicts = memory.streams.judge(observations, records, generation, elsewhere.get)
    return [NewVerdict(status.unit, stream, generation, verdict) for stream, verdict in verdicts.items()]


def _generation(status: UnitStatus) -> int:
    return 0 if status.attempt is None else status.attempt.generation
