"""The unit `flights` of a project, with a topic of ten records and a launcher in memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta

import pytest

from sluice.project.kafka import ProjectKafka
from sluice.project.processes import ProjectProcesses
from sluice.specs.model.access import Role
from sluice.topics.administration import TopicCreation
from tests.twins.clock import START, ManualClock
from tests.twins.departures_project import DeparturesProject
from tests.twins.drivers import DictionaryLauncher
from tests.twins.kafka_administration import InMemoryKafkaAdministration


class FlightsUnit:
    """A unit whose cluster and drivers are in memory. Knows in which roles the cluster was asked."""

    def __init__(self, place: DeparturesProject, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster = InMemoryKafkaAdministration()
        self.cluster.create([TopicCreation("flights", 1, 1)])
        self.cluster.append("flights", 0, [START + timedelta(minutes=n) for n in range(10)])
        self.launcher = DictionaryLauncher(ManualClock())
        self.roles: set[Role] = set()

        def administration(
            _: ProjectKafka, role: Role = Role.PLANNER, *, patience_seconds: float = 15
        ) -> AbstractContextManager[InMemoryKafkaAdministration]:
            assert patience_seconds > 0
            self.roles.add(role)
            return nullcontext(self.cluster)

        monkeypatch.setattr(ProjectKafka, "administration", administration)
        monkeypatch.setattr(ProjectProcesses, "launcher", lambda _processes: self.launcher)
        self.project = place.project
