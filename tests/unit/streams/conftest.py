from __future__ import annotations

import pytest

from sluice.streams.life.life import UnitLife
from tests.twins.clock import ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.lives import life_of
from tests.twins.registry import InMemoryRegistry


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def registry(clock: ManualClock) -> InMemoryRegistry:
    return InMemoryRegistry(clock)


@pytest.fixture
def launcher(clock: ManualClock) -> DictionaryLauncher:
    return DictionaryLauncher(clock)


@pytest.fixture
def life(registry: InMemoryRegistry, launcher: DictionaryLauncher) -> UnitLife:
    return life_of(registry, launcher)
