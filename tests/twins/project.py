"""A project in memory: the part of `sluice.project.Project` that Airflow's tasks use, on twins."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

from sluice.specs.catalog import Catalog
from sluice.streams.launcher import Job
from sluice.streams.life import UnitLife
from sluice.streams.registry import Attempt
from sluice.streams.timeline import Timeline, timeline
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
        self.settings = SimpleNamespace(deployment="local")
        self.deployment = SimpleNamespace(replication=1)
        self.control = InMemoryRegistry(self.clock)
        self.drivers = DictionaryLauncher(self.clock)

    def registry(self) -> InMemoryRegistry:
        return self.control

    def launcher(self) -> DictionaryLauncher:
        return self.drivers

    def administration(self) -> KafkaAdministration:
        assert self.cluster is not None
        return self.cluster

    def job(self, attempt: Attempt) -> Job:
        return Job(("driver", attempt.unit, str(attempt.generation)))

    def timeline(self, unit: str) -> Timeline:
        attempts, now = self.control.attempts(unit), self.clock.now()
        return timeline(self.life(unit).look(), attempts, now=now, log=self.drivers.log)

    def life(self, unit: str) -> UnitLife:
        return UnitLife(self.control, self.drivers, deployment="local", unit=unit, job=self.job, clock=self.clock)
