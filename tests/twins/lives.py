"""A unit's life in memory: its registry and launcher are dictionaries, its driver a command line."""

from __future__ import annotations

from sluice.streams.launcher import Job
from sluice.streams.life import UnitLife
from sluice.streams.registry import Attempt, DesiredState
from tests.twins.drivers import DictionaryLauncher
from tests.twins.registry import InMemoryRegistry


def job(attempt: Attempt) -> Job:
    return Job(("driver", "--generation", str(attempt.generation)))


def life_of(registry: InMemoryRegistry, launcher: DictionaryLauncher) -> UnitLife:
    return UnitLife(registry, launcher, deployment="local", unit="flights", job=job, clock=registry.clock)


def latest(registry: InMemoryRegistry) -> Attempt:
    found = registry.latest_attempt("flights")
    assert found is not None
    return found


def wish(registry: InMemoryRegistry) -> DesiredState:
    found = registry.desired("flights")
    assert found is not None
    return found
