"""The health of a project's streams: observations, the verdicts on them, and the status by the records."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING

from sluice.clock import Clock
from sluice.errors import UnreachableError
from sluice.project.fleet_observer import FleetObserver, KnownCheckpoints, observed_unit
from sluice.project.kafka import ProjectKafka
from sluice.project.records import ProjectRecords
from sluice.project.streams import ProjectStreams
from sluice.settings import StateFolder
from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.model.access import Role
from sluice.streams.health.fleet import ATTEMPTS_READ, StreamStatus, UnitRecords, stream_statuses
from sluice.streams.health.observation import Observation
from sluice.streams.health.observing import Stamps, observe
from sluice.streams.health.recording import lagging_since
from sluice.streams.health.settlers import Judgement, judge_all
from sluice.streams.health.verdict import Verdict, judge
from sluice.streams.life.status import UnitStatus

if TYPE_CHECKING:
    from sluice.kafka.administration import KafkaPythonAdministration


@dataclass(frozen=True)
class ProjectHealth:
    """Observes and judges the streams of one deployment."""

    catalog: Catalog
    folder: StateFolder
    kafka: ProjectKafka
    records: ProjectRecords
    streams: ProjectStreams
    clock: Clock

    def observations(self, unit: str, *, stamps: Stamps = Stamps.IF_OLD) -> Mapping[str, Observation]:
        """Observe every stream of a unit. What cannot be observed is None in it, with a note.

        Args:
            unit: the driver's name in the specs.
            stamps: when to ask for the timestamps of unread records.

        Raises:
            SpecError: no spec names such a driver.
        """
        observed = observed_unit(self.catalog, self.folder, self.catalog.unit(unit), *self._unit_status(unit))
        with ExitStack() as connections:

            @cache
            def cluster() -> KafkaPythonAdministration:
                return connections.enter_context(self.kafka.administration(Role.WATCHER, patience_seconds=5))

            return observe([observed], cluster, at=self.clock.now(), stamps=stamps)[unit]

    def observer(self, known: KnownCheckpoints) -> FleetObserver:
        """Return what observes many units again and again, from the checkpoints that an earlier observer has read."""
        return FleetObserver(self.catalog, self.folder, self.kafka, self.clock, known)

    def verdicts(self, unit: str, *, closely: bool = False) -> Mapping[str, Verdict]:
        """Judge every stream of a unit by one observation, and by what a watcher has recorded over a longer time.

        Args:
            unit: the driver's name in the specs.
            closely: whether to ask, for a third of a second per topic, how long each partition's first record waits.

        Raises:
            SpecError: no spec names such a driver.
        """
        observations = self.observations(unit, stamps=Stamps.ALWAYS if closely else Stamps.IF_OLD)
        since = self._lagging_since(unit)

        return judge_all(observations, partial(_judge_one, since), self._verdict_elsewhere)

    def statuses(self, units: Collection[Unit], now: datetime) -> list[StreamStatus]:
        """Return the status of every stream of some units by the records at a time (UTC), in a few queries.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        names, registry = [unit.name for unit in units], self.records.registry()
        desired, verdicts = registry.newest_desired_states(names), registry.newest_verdicts(names)
        attempts, snapshots = registry.histories(names, newest=ATTEMPTS_READ), self.records.snapshots().of(names)
        return [
            status
            for unit in units
            for status in stream_statuses(
                unit,
                UnitRecords(
                    desired.get(unit.name),
                    attempts.get(unit.name, ()),
                    snapshots.get(unit.name, {}),
                    verdicts.get(unit.name, {}),
                ),
                now,
            )
        ]

    def verdicts_on_record(self, streams: Collection[str]) -> Mapping[str, Verdict]:
        """Return the verdicts on some streams by what is on record now.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        units = [unit for unit in self.catalog.units().values() if set(unit.streams) & set(streams)]
        found = self.statuses(units, self.clock.now())
        return {status.stream: status.verdict for status in found if status.stream in streams}

    def _verdict_elsewhere(self, stream: str) -> Verdict | None:
        """Judge a stream of another unit by one observation, and what it rests on likewise."""
        unit = next((name for name, each in self.catalog.units().items() if stream in each.streams), None)
        if unit is None:
            return None
        observed = {stream: self.observations(unit)[stream]}
        return judge_all(observed, partial(_judge_one, self._lagging_since(unit)), self._verdict_elsewhere)[stream]

    def _lagging_since(self, unit: str) -> Mapping[str, datetime | None]:
        try:
            registry = self.records.registry()
            attempt, records = registry.latest_attempt(unit), registry.verdicts(unit)
        except UnreachableError:
            return {}
        return {r.stream: lagging_since(r, attempt.generation if attempt else None) for r in records}

    def _unit_status(self, unit: str) -> tuple[UnitStatus | None, tuple[str, ...]]:
        try:
            return self.streams.life(unit).observe(), ()
        except UnreachableError as error:
            return None, (str(error),)


def _judge_one(
    since: Mapping[str, datetime | None], stream: str, observed: Observation, above: Judgement | None
) -> Verdict:
    return judge(observed, lagging_since=since.get(stream), raw=above)
