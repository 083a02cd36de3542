"""Positions in consumer groups: written when they change, and whatever goes wrong is a warning."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import cast

import pytest

from sluice.airflow.streams.mirroring import Mirrors
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.specs.model.access import Role
from sluice.streams.health.observation import Observation
from tests.twins.clock import ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.observations import observed, steadily


class Cluster(InMemoryKafkaAdministration):
    """Counts what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def set_group(self, group: str, offsets: Mapping[str, int]) -> None:
        self.writes += 1
        super().set_group(group, offsets)


class MirroredProject:
    """The shipped specs, with a group."""

    def __init__(self) -> None:
        catalog = load_catalog(settings().home / "include")
        pipeline = catalog.pipelines["departures"].model_copy(update={"mirror_group": "sluice-departures"})
        self.catalog = Catalog(topics=catalog.topics, pipelines={"departures": pipeline})
        self.cluster = Cluster()
        self.kafka = self

    def administration(self, _role: Role, *, patience_seconds: float) -> AbstractContextManager[Cluster]:
        assert patience_seconds < 5
        return nullcontext(self.cluster)


class Bench:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.project = MirroredProject()
        self.mirrors = Mirrors(self.clock)

    def reflect(self, **evidence: Observation) -> None:
        self.mirrors.mirror(cast(Project, self.project), {"flights": evidence})


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_each_stream_is_shown_in_its_group_and_the_raw_stream_in_none(bench: Bench) -> None:
    bench.reflect(
        departures=observed(9, steadily(3)), departures_live=observed(9, steadily(2)), raw_flights=observed(9)
    )
    assert bench.project.cluster.groups == {
        "sluice-departures": {"flights/0": 1_800},
        "sluice-departures_live": {"flights/0": 1_200},
    }


def test_what_has_not_changed_is_not_written_again(bench: Bench) -> None:
    for _ in range(3):
        bench.reflect(departures=observed(9, steadily(3)))
    assert bench.project.cluster.writes == 1
    bench.reflect(departures=observed(99, steadily(2)))  # a reset moved it back
    assert bench.project.cluster.groups["sluice-departures"] == {"flights/0": 1_200}


def test_what_is_not_known_is_not_shown(bench: Bench) -> None:
    bench.reflect(departures=observed(9, steadily(3), committed=None))
    bench.reflect(departures=observed(9, steadily(3), ends=None))
    bench.reflect(departures=observed(9))
    assert bench.project.cluster.writes == 0


def test_a_group_that_is_consumed_with_is_warned_of_once_a_minute_and_tried_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.project.cluster.consumed.add("sluice-departures")
    with caplog.at_level(logging.WARNING):
        for _ in range(12):
            bench.reflect(departures=observed(9, steadily(3)), departures_live=observed(9, steadily(3)))
            bench.clock.sleep(10)
    assert len(caplog.records) == 2
    assert "sluice-departures" in caplog.text
    assert bench.project.cluster.groups == {"sluice-departures_live": {"flights/0": 1_800}}
    bench.project.cluster.consumed.clear()
    bench.reflect(departures=observed(9, steadily(3)))
    assert bench.project.cluster.groups["sluice-departures"] == {"flights/0": 1_800}


def test_a_cluster_that_does_not_answer_disturbs_nobody(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.project.cluster.reachable = False
    bench.reflect(departures=observed(9, steadily(3)))
    assert "could not be shown" in caplog.text
