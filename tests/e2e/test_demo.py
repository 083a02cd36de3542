"""Two days of the demo, as a user runs it: real broker, real Airflow, real Spark, in a private state folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from deltalake import DeltaTable

from sluice.local.airflow_api import AirflowApi, watching
from tests.oracle import departures, differences, flights

DAYS = ("2013-01-01", "2013-01-02")
SLUICE = Path(sys.executable).with_name("sluice")


@dataclass(frozen=True)
class Machine:
    """A private state folder, and the command line that works in it."""

    state: Path

    def sluice(self, *arguments: str, deadline: float = 120) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "SLUICE_STATE": str(self.state)}
        command = [str(SLUICE), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=deadline)

    def ask(self, *arguments: str) -> Any:  # noqa: ANN401  JSON
        done = self.sluice(*arguments, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def demo(self, *options: str) -> dict[str, Any]:
        done = self.sluice("demo", "--from", DAYS[0], "--to", DAYS[1], *options, deadline=420)
        assert done.returncode == 0, done.stderr[-4000:]
        report: dict[str, Any] = json.loads((self.state / "demo.json").read_text())
        return report

    def table(self, report: dict[str, Any], name: str) -> pd.DataFrame:
        return DeltaTable(report["tables"][name]).to_pandas()

    def processes(self) -> list[str]:
        """Return what still runs for this state folder."""
        mine = []
        for process in psutil.process_iter(["cmdline", "environ", "status"]):
            environ = process.info["environ"] or {}
            if environ.get("SLUICE_STATE") == str(self.state) and process.info["status"] != psutil.STATUS_ZOMBIE:
                mine.append(" ".join(process.info["cmdline"] or []))
        return mine


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("demo") / "state")
    yield machine
    machine.sluice("down")


@pytest.mark.timeout(900)
def test_the_demo_tells_the_truth_survives_a_restart_and_leaves_nothing_behind(machine: Machine) -> None:
    expected, sent = departures(*DAYS), flights(*DAYS)
    late = int((sent["dep_delay"] > 180).sum())

    report = machine.demo()
    assert report["ok"] is True
    assert report["produced"] == len(sent)
    assert report["raw"] == {"records": len(sent) + 1, "undecodable": 0}
    assert report["validation"] == {"good": len(sent) - late, "quarantined": 0, "late": late, "control": 1}
    assert report["stream"]["verdict"] in {"OK", "IDLE"}
    assert report["stream"]["generation"] == 1
    hours = (expected["hour"].max() - expected["hour"].min()) // pd.Timedelta(hours=1) + 1
    assert report["intervals"] == {"closed": hours}
    assert differences(machine.table(report, "departures"), expected) == []
    assert len(machine.table(report, "flights_raw")) == len(sent) + 1

    # A second run of the stream's DAG adopts the driver.
    api = AirflowApi(machine.ask("status")["stack"]["airflow"])
    api.wait("stream_flights", api.trigger("stream_flights"), watching, 120)
    assert [attempt["generation"] for attempt in machine.ask("streams", "show", "flights")["attempts"]] == [1]

    # A stop is graceful and on record. A second demo adopts the stack, starts the next generation from the checkpoint,
    # sends nothing, and ends the same.
    assert machine.sluice("streams", "stop", "flights").returncode == 0
    streams = machine.ask("status")["streams"]
    assert {stream["verdict"] for stream in streams.values()} == {"STOPPED"}
    again = machine.demo("--exit")
    same = ("ok", "produced", "raw", "validation", "intervals", "tables")
    assert {key: again[key] for key in same} == {key: report[key] for key in same}
    assert again["stream"]["generation"] == 2
    assert differences(machine.table(again, "departures"), expected) == []
    assert len(machine.table(again, "flights_raw")) == len(sent) + 1
    assert machine.processes() == []
