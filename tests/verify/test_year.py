"""All flights of 2013, of which one day comes when the year is settled: found, repaired, corrected, exact.

The oracle is pandas over the package's files; it shares no code with Sluice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

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
FORGOTTEN = date(2013, 2, 14)
"""A day whose records come when the year is settled."""
RECORDS, LATE = 336_776, 3_893


@dataclass(frozen=True)
class Year:
    """A private state folder, and a topic."""

    settings: Settings
    bootstrap: str

    def publish(self, first: date, last: date) -> int:
        """Send the flights of some days and return how many there are."""
        catalog, include = load_catalog(self.settings.home / "include"), self.settings.home / "include"
        feed, topic, readers = catalog.feeds["flights"], catalog.topics["flights"], catalog.pipelines.values()
        folder, brokers = self.settings.folder.feeds / f"{first}", (self.bootstrap,)
        with open_feed(feed, topic, readers, bootstrap=brokers, client={}, folder=folder, include=include) as flights:
            return flights.send(first, last, pace=Pace(), out_of_order=True).sent

    def drain(self, generation: int) -> None:
        """Run a driver until it has read everything."""
        done = self.run("stream.py", "--unit", "flights", "--generation", f"{generation}", "--available-now")
        assert done.returncode == 0, done.stderr[-4000:]

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


@pytest.fixture
def year(tmp_path: Path) -> Iterator[Year]:
    place = Settings(home=settings().home, state=tmp_path / "state")
    broker = BrokerProcess(tmp_path / "kafka", *free_ports(), settings().jars)
    broker.prepare()
    with running(broker):
        write_endpoints(place.folder, Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url=""))
        with KafkaPythonAdministration((broker.bootstrap,), {}) as administration:
            apply(Declared(load_catalog(place.home / "include").topics), administration)
        yield Year(place, broker.bootstrap)


def test_a_day_that_comes_too_late_is_marked_repaired_and_corrected_to_the_last_row(year: Year) -> None:
    first, last = map(date.fromisoformat, YEAR)
    day = timedelta(days=1)
    sent = year.publish(first, FORGOTTEN - day) + year.publish(FORGOTTEN + day, last)
    year.drain(1)
    sent += year.publish(FORGOTTEN, FORGOTTEN)
    year.drain(2)
    assert sent >= RECORDS
    on_time, all_of_it = departures(*YEAR), departures(*YEAR, with_late=True)

    states = year.states()
    dirty = {start for start, state in states.items() if state is State.DIRTY}
    assert len(dirty) > 12, "the day did not come too late, so nothing was tested"
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
