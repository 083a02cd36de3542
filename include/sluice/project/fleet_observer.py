"""Observes the streams of many units at once, again and again, for the watcher.

It keeps one connection to Kafka, and asks for all topics together. Of a checkpoint that it knows it reads only what is
new.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sluice.clock import Clock
from sluice.errors import SluiceError, UnreachableError
from sluice.project.kafka import ProjectKafka
from sluice.project.settlers import settler_source
from sluice.settings import StateFolder
from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.catalog.rhythm import rhythm_of
from sluice.specs.model.access import Role
from sluice.specs.model.sources import table_of
from sluice.storage.objects import objects_in
from sluice.streams.health.observation import Observation
from sluice.streams.health.observing import ObservationTarget, ProgressSource, Stamps, observe
from sluice.streams.life.driver_files import ended_alone, executors_of, is_done, last_report
from sluice.streams.life.status import UnitStatus
from sluice.streams.position.checkpoint import Checkpoint, CheckpointState
from sluice.streams.position.epochs import Epochs
from sluice.topics.administration import RecordStamp, TopicExtent

if TYPE_CHECKING:
    from sluice.kafka.administration import KafkaPythonAdministration

KnownCheckpoints: TypeAlias = dict[str, dict[str, tuple[Path, CheckpointState]]]
"""What was last read of the checkpoint of each stream of each unit, and the checkpoint's folder. An entry that is
missing costs time and changes no result."""

_PATIENCE_SECONDS = 5
_PAUSE_SECONDS = 10
"""How long a cluster that did not answer is not asked again: the other units must not wait for it one by one."""


def observed_unit(
    catalog: Catalog,
    folder: StateFolder,
    unit: Unit,
    status: UnitStatus | None,
    notes: tuple[str, ...] = (),
    *,
    read: Callable[[str, Checkpoint], CheckpointState] = lambda _stream, checkpoint: checkpoint.read(),
) -> ObservationTarget:
    """Return where a unit's streams are observed.

    Args:
        catalog: the specs.
        folder: where checkpoints and reports are.
        unit: the unit.
        status: what is recorded and observed of its driver; None if the control database could not be queried.
        notes: why that is None.
        read: reads a stream's checkpoint.
    """
    sources = {
        stream: ProgressSource(
            catalog.topics_of(stream),
            partial(_read_newest, _epochs(folder, stream), stream, read),
            rhythm_of(catalog, stream),
            partial(last_report, folder.progress_file(stream)),
            partial(ended_alone, folder.progress_file(stream)),
            settler_source(catalog, folder, stream),
            {name: partial(_next_version, folder, name) for name in _tables_of(catalog, stream)},
            partial(is_done, folder.progress_file(stream)),
        )
        for stream in unit.streams
    }
    executors = partial(executors_of, folder.unit_file(unit.name), unit.name)
    return ObservationTarget(unit.name, status, sources, notes, executors)


def _epochs(folder: StateFolder, stream: str) -> Epochs:
    return Epochs(folder.checkpoint(stream), objects_in(folder.epoch_records(stream)))


def _tables_of(catalog: Catalog, stream: str) -> tuple[str, ...]:
    declared = catalog.streams.get(stream)
    return () if declared is None else declared.tables


def _next_version(folder: StateFolder, name: str) -> int:
    from sluice.delta.versions import next_version  # noqa: PLC0415 - see `Project`

    return next_version(folder.table(table_of(name) or name))


def _read_newest(epochs: Epochs, stream: str, read: Callable[[str, Checkpoint], CheckpointState]) -> CheckpointState:
    return read(stream, epochs.checkpoint())  # in the newest epoch, whenever it is called


class FleetObserver:
    """Observes the streams of those units that the specs of one project declare. For one thread."""

    def __init__(
        self, catalog: Catalog, folder: StateFolder, kafka: ProjectKafka, clock: Clock, known: KnownCheckpoints
    ) -> None:
        self._catalog = catalog
        self._folder = folder
        self._kafka = kafka
        self._clock = clock
        self._known = known
        self._units = catalog.units()
        self._observed: dict[str, ObservationTarget] = {}
        self._connected: KafkaPythonAdministration | None = None
        self._unreachable: tuple[float, UnreachableError] | None = None

    def declares(self, unit: str) -> bool:
        """Whether a sound spec names such a driver."""
        return unit in self._units

    def observations(self, statuses: Mapping[str, UnitStatus]) -> Mapping[str, Mapping[str, Observation]]:
        """Observe the streams of some units. What cannot be observed is None in it, with a note.

        Returns:
            the observations by unit and stream.
        """
        at = self._clock.now()
        units = [self._of(unit, status) for unit, status in statuses.items()]
        return observe(units, lambda: self, at=at, stamps=Stamps.NEVER)

    def extents(self, topics: Collection[str]) -> Mapping[str, TopicExtent | SluiceError]:
        """Ask Kafka what topics hold.

        Raises:
            UnreachableError: it does not answer, or did not a moment ago.
        """
        now = self._clock.monotonic()
        if self._unreachable is not None and now < self._unreachable[0]:
            raise self._unreachable[1]
        self._unreachable = None
        try:
            return self._cluster().extents(topics)
        except UnreachableError as error:
            self._unreachable = self._clock.monotonic() + _PAUSE_SECONDS, error
            raise

    def stamps(self, topic: str, offsets: Mapping[int, int]) -> Mapping[int, RecordStamp]:
        """Ask Kafka for the timestamps of records."""
        return self._cluster().stamps(topic, offsets)

    def forget(self, unit: str) -> None:
        """Forget what was read of a unit: the next observation reads its past again."""
        self._known.pop(unit, None)

    def close(self) -> None:
        """Close the connection to Kafka. Using it again connects again."""
        if self._connected is not None:
            self._connected.close()

    def _of(self, unit: str, status: UnitStatus) -> ObservationTarget:
        """Return where a unit's streams are observed: by the specs of one project that never changes."""
        if unit not in self._observed:
            follow = partial(self._follow, unit)
            self._observed[unit] = observed_unit(self._catalog, self._folder, self._units[unit], None, read=follow)
        known = self._observed[unit]
        return ObservationTarget(unit, status, known.sources, executors=known.executors)

    def _follow(self, unit: str, stream: str, checkpoint: Checkpoint) -> CheckpointState:
        """Read what is new in a checkpoint; one in another folder than before is another one."""
        known = self._known.setdefault(unit, {})
        folder, before = known.get(stream, (None, None))
        state = checkpoint.follow(before if folder == checkpoint.folder else None)
        known[stream] = checkpoint.folder, state
        return state

    def _cluster(self) -> KafkaPythonAdministration:
        """Return the open connection, unless the addresses have changed."""
        if self._connected is None or self._connected.bootstrap != self._kafka.bootstrap():
            self.close()
            self._connected = self._kafka.administration(Role.WATCHER, patience_seconds=_PATIENCE_SECONDS)
        return self._connected
