"""A project in memory: the part of `sluice.project.project.Project` that Airflow's tasks use, on twins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

from sqlalchemy import Engine

from sluice.control.database import migrate, open_database, sqlite_url
from sluice.project.survey import Looks
from sluice.settings import StateFolder, settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.kafka import EmbeddedKafka
from sluice.specs.model.access import Role
from sluice.streams.health.observation import Evidence
from sluice.streams.life.attempts import Attempt
from sluice.streams.life.launcher import Job
from sluice.streams.life.life import UnitLife
from sluice.streams.life.lives import Lives
from sluice.streams.life.sighting import Sighting
from sluice.streams.life.timeline import Timeline, timeline
from sluice.streams.position.checkpoint import Checkpoint
from sluice.topics.administration import KafkaAdministration
from tests.twins.clock import ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.registry import InMemoryRegistry


@dataclass
class InMemoryProject:
    """Specs, control database, launcher and cluster of one test."""

    catalog: Catalog = field(default_factory=Catalog)
    cluster: KafkaAdministration | None = None
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.settings = SimpleNamespace(deployment="local", home=settings().home, folder=settings().folder)
        self.deployment = DeploymentSpec(name="local", kafka=EmbeddedKafka())
        self.control = InMemoryRegistry(self.clock)
        self.drivers = DictionaryLauncher(self.clock)

    @cached_property
    def control_database(self) -> Engine:
        """A real one, in a folder that goes with this project: what a test sees is nobody's record."""
        self._folder = TemporaryDirectory()
        engine = open_database(sqlite_url(Path(self._folder.name) / "control.db"))
        migrate(engine)
        return engine

    @property
    def folder(self) -> StateFolder:
        return settings().folder

    def bootstrap(self) -> tuple[str, ...]:
        return ("broker-1:9092",)

    def checkpoint(self, stream: str) -> Checkpoint:
        return Checkpoint(settings().folder.checkpoint(stream))

    def registry(self) -> InMemoryRegistry:
        return self.control

    def launcher(self) -> DictionaryLauncher:
        return self.drivers

    def administration(self, _role: Role = Role.PLANNER) -> KafkaAdministration:
        assert self.cluster is not None
        return self.cluster

    def job(self, attempt: Attempt) -> Job:
        return Job(("driver", attempt.unit, str(attempt.generation)))

    def timeline(self, unit: str) -> Timeline:
        attempts, now = self.control.attempts(unit), self.clock.now()
        return timeline(self.life(unit).look(), attempts, now=now, log=self.drivers.log)

    def life(self, unit: str) -> UnitLife:
        return self.lives().of(unit)

    def lives(self) -> Lives:
        return Lives(self.control, self.drivers, deployment="local", job=self.job, refuse=self.refuse, clock=self.clock)

    def refuse(self, unit: str) -> None:
        """Let a test stand against a start."""

    def evidence(self, unit: str) -> Mapping[str, Evidence]:
        """Return what a test lets the unit's streams show."""
        raise NotImplementedError(unit)

    def survey(self, looks: Looks) -> InMemorySurvey:
        assert looks is not None
        return InMemorySurvey(self)


@dataclass
class InMemorySurvey:
    """The part of `sluice.project.survey.Survey` that the observer uses."""

    project: InMemoryProject

    def declares(self, unit: str) -> bool:
        return unit in self.project.catalog.units()

    def evidence(self, sightings: Mapping[str, Sighting]) -> dict[str, Mapping[str, Evidence]]:
        return {unit: self.project.evidence(unit) for unit in sightings}

    def forget(self, unit: str) -> None:
        """It remembers nothing."""

    def close(self) -> None:
        """There is no connection."""
