"""How well the examples find what their simulators have injected, with seeds that were not used while writing them."""

from __future__ import annotations

from types import ModuleType

import pytest

from sluice.cli.scaffold.examples import examples_folder
from sluice.simulators.records import simulated_records
from sluice.specs.load import scan
from tests.scenarios import fraud, logs, scoring


@pytest.mark.parametrize("seed", [7001, *(pytest.param(seed, marks=pytest.mark.verify) for seed in (7002, 7003))])
@pytest.mark.parametrize(
    ("oracle", "table", "least"),
    [(fraud, "judged_payments", 30), (logs, "service_anomalies", 2), (scoring, "score_quality", 50)],
)
def test_what_was_injected_is_found_and_nothing_else(oracle: ModuleType, table: str, least: int, seed: int) -> None:
    """The rows are the oracle's, which are those of the table."""
    home = examples_folder() / oracle.__name__.rpartition(".")[2]
    catalog = scan(home / "include").catalog
    sent = {}
    for feed in catalog.feeds.values():
        assert feed.simulate is not None
        simulation = feed.simulate.model_copy(update={"seed": seed})
        seeded = feed.model_copy(update={"simulate": simulation})
        records = simulated_records(seeded, catalog.topics[feed.topic].value, home / "include")
        sent[feed.topic] = [record.value for record in records]
    rows = oracle.tables(sent, home)[table]
    found = oracle.quality(rows, home, seed, simulation.start, simulation.end)
    assert found["episodes"] >= least
    assert found["precision"] >= 0.9
    assert found["recall"] >= 0.9
