"""All flights of 2013, drained with a cap that makes Spark drop records on time: found, repaired, corrected, exact.

The oracle is pandas over the package's files; it shares no code with Sluice.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
import pytest

from sluice.delta.reading import read_rows
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.feeds.pace import Pace
from sluice.intervals.ledger import Ledger, State
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.feed import open_feed
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.project import Project
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from sluice.settings import Settings, settings
from sluice.specs.load import load_catalog
from tests.integration.brokers import free_ports, running
from tests.oracle import departures, differences, differing_hours

pytestmark = [pytest.mark.verify, pytest.mark.timeout(3600)]

YEAR = ("2013-01-01", "2013-12-31")
CAP = 2_000
"""Records a batch, split over partitions by their lag: they drift apart by more than the watermark's delay."""
LATE = 3_893


@dataclass(frozen=True)
class Year:
    """A copy of the project whose stream is capped, in a private state folder."""

    settings: Settings

    def run(self, main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "SLUICE_HOME": str(self.settings.home),
            "SLUICE_STATE": str(self.settings.state),
        }
        command = [sys.executable, str(self.settings.home / "spark_jobs" / main), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=2400)

    def backfill(self, mode: str, *options: str) -> None:
        ledger = self.ledger()
        first, last = min(ledger.rows), ledger.closed_until
        assert last is not None
        bounds = ["--from", first.isoformat(), "--to", last.isoformat()]
        asked = ["--by", "test", "--why", "the year", "--key", f"{mode}-{options}"]
        done = self.run("batch.py", "backfill", "--pipeline", "departures", *bounds, "--mode", mode, *options, *asked)
        assert done.returncode == 0, done.stderr[-4000:]

    def ledger(self) -> Ledger:
        return Project.open_strict(self.settings).tables.ledger("departures")

    def states(self) -> dict[pd.Timestamp, State]:
        code = Project.open_strict(self.settings).code_of("departures")
        return {pd.Timestamp(start): row.state(code) for start, row in self.ledger().rows.items()}

    def table(self) -> pd.DataFrame:
        return read_rows(self.settings.folder.table("departures")).to_pandas()


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Year]:
    folder = tmp_path_factory.mktemp("year")
    home = folder / "project"
    for part in ("include", "spark_jobs"):
        shutil.copytree(settings().home / part, home / part, ignore=shutil.ignore_patterns("__pycache__"))
    spec = home / "include" / "pipelines" / "departures.yaml"
    spec.write_text(spec.read_text() + f"max_records_per_batch: {CAP}\n")
    place = Settings(home=home, state=folder / "state")
    broker = BrokerProcess(folder / "kafka", *free_ports(), settings().jars)
    broker.prepare()
    with running(broker):
        write_endpoints(place.folder, Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url=""))
        _publish(place, broker)
        yield Year(place)


def _publish(place: Settings, broker: BrokerProcess) -> None:
    catalog = load_catalog(place.home / "include")
    with KafkaPythonAdministration((broker.bootstrap,), {}) as administration:
        apply(Declared(catalog.topics), administration)
    feed, topic = catalog.feeds["flights"], catalog.topics["flights"]
    pipelines = catalog.pipelines.values()
    with open_feed(
        feed,
        topic,
        pipelines,
        bootstrap=(broker.bootstrap,),
        client={},
        folder=place.folder.feeds,
        include=place.home / "include",
    ) as flights:
        assert flights.send(pace=Pace()).manifest.records == 336_776


def test_dropped_records_are_found_repaired_and_corrected_to_the_last_row(year: Year) -> None:
    done = year.run("stream.py", "--unit", "flights", "--generation", "1", "--available-now")
    assert done.returncode == 0, done.stderr[-4000:]
    on_time, all_of_it = departures(*YEAR), departures(*YEAR, with_late=True)

    states = year.states()
    dirty = {start for start, state in states.items() if state is State.DIRTY}
    assert dirty, "the cap provoked no drop, so nothing was tested"
    assert dirty == differing_hours(year.table(), on_time)

    year.backfill("recompute", "--only", "dirty")
    assert {state for start, state in year.states().items() if start in dirty} == {State.PUBLISHED}
    assert differences(year.table(), on_time) == []

    year.backfill("verify")
    year.backfill("correct")
    assert differences(year.table(), all_of_it) == []
    results = [json.loads(path.read_text()) for path in year.settings.folder.backfills.glob("*/result.json")]
    assert max(result["late_records"] for result in results) == LATE
    assert {result["unexplained"] for result in results} == {0}
