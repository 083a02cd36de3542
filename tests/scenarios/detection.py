"""How well an example finds what its simulator has injected, by its oracle: its rows are those of the table."""

from __future__ import annotations

from types import ModuleType

from sluice.cli.scaffold.examples import examples_folder
from sluice.simulators.records import simulated_records
from sluice.specs.load import scan


def detection(oracle: ModuleType, table: str, seed: int) -> dict[str, float]:
    """Return `precision`, `recall` and the number of `episodes` under another seed than that of the feeds."""
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
    found: dict[str, float] = oracle.quality(rows, home, seed, simulation.start, simulation.end)
    return found
