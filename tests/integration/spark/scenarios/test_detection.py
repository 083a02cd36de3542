"""How well the examples find what their simulators have injected, with seeds that were not used while writing them."""

from __future__ import annotations

import pytest

from sluice.cli.scaffold.examples import examples_folder
from sluice.simulators.records import simulated_records
from sluice.specs.load import scan
from tests.scenarios import fraud


@pytest.mark.parametrize("seed", [7001, 7002, 7003])
def test_fraud_is_found_and_honest_payments_are_left_alone(seed: int) -> None:
    """The rows are the oracle's, which are those of the table."""
    home = examples_folder() / "fraud"
    catalog = scan(home / "include").catalog
    feed = catalog.feeds["payments"]
    assert feed.simulate is not None
    simulation = feed.simulate.model_copy(update={"seed": seed})
    seeded = feed.model_copy(update={"simulate": simulation})
    records = simulated_records(seeded, catalog.topics["payments"].value, home / "include")
    rows = fraud.tables({"payments": [record.value for record in records]}, home)["judged_payments"]
    found = fraud.quality(rows, home, seed, simulation.start, simulation.end)
    assert found["episodes"] > 30
    assert found["precision"] >= 0.9
    assert found["recall"] >= 0.9
