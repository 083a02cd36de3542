"""The beans of a JVM are asked now and then, and one that does not answer stops nobody."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from py4j.protocol import Py4JNetworkError

from sluice.spark.driver.jvm_figures import JvmFigures
from tests.twins.clock import ManualClock


def test_beans_are_asked_again_after_ten_seconds() -> None:
    clock, asked = ManualClock(), [0]

    def beans() -> Mapping[str, float]:
        asked[0] += 1
        return {"threads": float(asked[0])}

    figures = JvmFigures(beans, clock)
    assert [figures.newest() for _ in range(3)] == [{"threads": 1.0}] * 3
    clock.sleep(9.9)
    assert figures.newest() == {"threads": 1.0}
    clock.sleep(0.1)
    assert figures.newest() == {"threads": 2.0}


@pytest.mark.parametrize("error", [Py4JNetworkError("gone"), ConnectionResetError("reset")])
def test_a_jvm_that_ends_is_noticed_by_others(error: Exception) -> None:
    clock, answers = ManualClock(), [{"threads": 1.0}]

    def beans() -> Mapping[str, float]:
        if answers:
            return answers.pop()
        raise error

    figures = JvmFigures(beans, clock)
    assert figures.newest() == {"threads": 1.0}
    clock.sleep(10)
    assert figures.newest() is None
