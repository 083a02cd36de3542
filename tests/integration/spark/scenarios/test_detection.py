"""How well the examples find what their simulators have injected, with seeds that were not used while writing them."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.scenarios import fraud, logs, scoring
from tests.scenarios.detection import detection


@pytest.mark.parametrize("seed", [7001, *(pytest.param(seed, marks=pytest.mark.verify) for seed in (7002, 7003))])
@pytest.mark.parametrize(
    ("oracle", "table", "least"),
    [
        (fraud, "judged_payments", 30),
        pytest.param(logs, "service_anomalies", 2, marks=pytest.mark.verify),
        pytest.param(scoring, "score_quality", 50, marks=pytest.mark.verify),
    ],
)
def test_what_was_injected_is_found_and_nothing_else(oracle: ModuleType, table: str, least: int, seed: int) -> None:
    """The rows are the oracle's, which are those of the table."""
    found = detection(oracle, table, seed)
    assert found["episodes"] >= least
    assert found["precision"] >= 0.9
    assert found["recall"] >= 0.9
