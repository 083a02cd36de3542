"""A project in memory: the parts of `sluice.project.project.Project` that Airflow's tasks use, on twins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

from sqlalchemy import Engine

from sluice.control.database import migrate, open_database, sqlite_url
from sluice.project.fleet_observer import KnownCheckpoints
from sluice.project.health import ProjectHealth
from sluice.project.records import ProjectRecords
from sluice.project.streams import ProjectStreams
from sluice.project.topics import ProjectTopics
from sluice.settings import StateFolder, settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.kafka import EmbeddedKafka
from sluice.specs.model.access import Role
from sluice.streams.health.observation import Observation
from sluice.streams.health.observing import Stamps
from sluice.streams.life.attempts import Attempt
from sluice.streams.life.launcher import Job
from sluice.streams.life.status import UnitStatus
from sluice.topics.administration import KafkaAdministration
from tests.twins.clock import ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.registry import InMemoryRegistry


@dataclass
class InMemoryProject:
    """Specs, control database, launcher and cluster of one test.

    A test overrides `registry`, `launcher`, `bootstrap`, `refuse` and `observations`, which the parts ask.
    """

    catalog: Catalog = field(default_factory=Catalog)
    cluster: KafkaAdministration | None = None
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.settings = SimpleNamespace(deployment="local", home=settings().home, folder=settings().folder)
        self.deployment = DeploymentSpec(name="local", kafka=EmbeddedKafka())
        self.control = InMemoryRegistry(self.clock)
        self.drivers = DictionaryLauncher(self.clock)
        self.records = InMemoryRecords(self.settings, self.folder, self.clock, self)  # type: ignore[arg-type]
        self.kafka = InMemoryKafka(self)
        self.processes = InMemoryProcesses(self)

    def registry(self) -> InMemoryRegistry:
        return self.control

    def launcher(self) -> DictionaryLauncher:
        return self.drivers

    def bootstrap(self) -> tuple[str, ...]:
        return ("broker-1:9092",)

    def refuse(self, unit: str) -> None:
        """Let a test stand against a start."""

    def observations(self, unit: str) -> Mapping[str, Observation]:
        """Return what a test lets the unit's streams show."""
        raise NotImplementedError(unit)

    @property
    def folder(self) -> StateFolder:
        return settings().folder

    @property
    def streams(self) -> ProjectStreams:
        return ProjectStreams(self.catalog, self.folder, self.records, self.processes, self.clock)  # type: ignore[arg-type]

    @property
    def health(self) -> InMemoryHealth:
        parts = self.catalog, self.folder, self.kafka, self.records, self.streams, self.clock
        return InMemoryHealth(*parts, self)  # type: ignore[arg-type]

    @property
    def topics(self) -> ProjectTopics:
        parts = self.kafka, self.streams, self.health
        return ProjectTopics(self.settings, self.catalog, self.deployment, *parts)  # type: ignore[arg-type]


@dataclass(frozen=True)
class InMemoryRecords(ProjectRecords):
    """A registry in memory; the other records are in a real database, in a folder that goes with the project."""

    project: InMemoryProject
    temporary: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)

    def registry(self) -> InMemoryRegistry:
        return self.project.registry()

    @cached_property
    def database(self) -> Engine:
        engine = open_database(sqlite_url(Path(self.temporary.name) / "control.db"))
        migrate(engine)
        return engine


@dataclass
class InMemoryKafka:
    """The test's cluster, whoever connects."""

    project: InMemoryProject

    def bootstrap(self) -> tuple[str, ...]:
        return self.project.bootstrap()

    def administration(self, _role: Role = Role.PLANNER, **_options: object) -> KafkaAdministration:
        assert self.project.cluster is not None
        return self.project.cluster


@dataclass
class InMemoryProcesses:
    """Drivers in a dictionary."""

    project: InMemoryProject

    def launcher(self) -> DictionaryLauncher:
        return self.project.launcher()

    def driver(self, attempt: Attempt) -> Job:
        return Job(("driver", attempt.unit, str(attempt.generation)))

    def refuse_unconfigured(self, unit: str) -> None:
        self.project.refuse(unit)


@dataclass(frozen=True)
class InMemoryHealth(ProjectHealth):
    """Streams show what the test says."""

    project: InMemoryProject

    def observations(self, unit: str, *, stamps: Stamps = Stamps.IF_OLD) -> Mapping[str, Observation]:
        assert stamps in Stamps
        return self.project.observations(unit)

    def observer(self, known: KnownCheckpoints) -> InMemoryObserver:  # type: ignore[override]
        assert known is not None
        return InMemoryObserver(self.project)


@dataclass
class InMemoryObserver:
    """The part of `sluice.project.fleet_observer.FleetObserver` that the observer uses."""

    project: InMemoryProject

    def declares(self, unit: str) -> bool:
        return unit in self.project.catalog.units()

    def observations(self, statuses: Mapping[str, UnitStatus]) -> dict[str, Mapping[str, Observation]]:
        return {unit: self.project.observations(unit) for unit in statuses}

    def forget(self, unit: str) -> None:
        """It remembers nothing."""

    def close(self) -> None:
        """There is no connection."""
