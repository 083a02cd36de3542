"""A unit's life in memory: its registry and launcher are dictionaries, its driver a command line."""

from __future__ import annotations

from collections.abc import Callable

from sluice.errors import NotConfiguredError
from sluice.streams.life.attempts import Attempt, DesiredState
from sluice.streams.life.launcher import Job
from sluice.streams.life.life import UnitLife
from tests.twins.drivers import DictionaryLauncher
from tests.twins.registry import InMemoryRegistry


def job(attempt: Attempt) -> Job:
    return Job(("driver", "--generation", str(attempt.generation)))


def life_of(
    registry: InMemoryRegistry,
    launcher: DictionaryLauncher,
    refuse: Callable[[str], None] = lambda _unit: None,
    marked: Callable[[str], int] = lambda _unit: 0,
) -> UnitLife:
    return UnitLife(
        registry,
        launcher,
        deployment="local",
        unit="flights",
        job=job,
        refuse=refuse,
        marked=marked,
        clock=registry.clock,
    )


def unconfigured(unit: str) -> None:
    """Stand against a start for want of a variable."""
    raise NotConfiguredError(f"the specs of unit {unit!r} name SLUICE_CONNECTION_SERVING, which is not set here.")


def latest(registry: InMemoryRegistry) -> Attempt:
    found = registry.latest_attempt("flights")
    assert found is not None
    return found


def wish(registry: InMemoryRegistry) -> DesiredState:
    found = registry.desired("flights")
    assert found is not None
    return found
