"""A driver's start warns of topics whose producers may write times that its pipelines do not expect."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.project.kafka import ProjectKafka
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.spark.driver.unbounded_topics import unbounded_topics
from sluice.specs.model.access import Role
from sluice.topics.administration import TopicCreation
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.unit.specs.bench import sound_project


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> InMemoryKafkaAdministration:
    cluster = InMemoryKafkaAdministration()
    roles = {Role.STREAM: cluster}
    monkeypatch.setattr(ProjectKafka, "administration", lambda _, role: roles[role])
    return cluster


@pytest.fixture
def project(tmp_path: Path) -> Project:
    sound_project(tmp_path)
    return Project.open_strict(Settings(home=tmp_path, state=tmp_path / "state", deployment="prod"))


def test_a_topic_made_by_hand_is_warned_of_until_it_is_bounded(
    project: Project, cluster: InMemoryKafkaAdministration
) -> None:
    cluster.create([TopicCreation("orders", 2, 1)])
    (warning,) = unbounded_topics(project, project.catalog.unit("shop"))
    assert "the producers of orders stamp its records" in warning
    cluster.set_configs("orders", {"message.timestamp.after.max.ms": "600000"})
    assert unbounded_topics(project, project.catalog.unit("shop")) == ()


def test_what_cannot_be_seen_is_not_warned_of_and_keeps_nothing_from_starting(
    project: Project, cluster: InMemoryKafkaAdministration
) -> None:
    assert unbounded_topics(project, project.catalog.unit("shop")) == ()  # no such topic, or not ours to see
    cluster.reachable = False
    assert unbounded_topics(project, project.catalog.unit("shop")) == ()
