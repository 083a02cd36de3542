"""`sluice prove` with a real broker and real drivers: a sound pipeline survives a kill, one with dice is convicted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.processes import DRIVER_MARK, marked, wait_until
from sluice.proof.running.run import remove_leftovers
from tests.integration.spark.conftest import DriverPlace, place_at

SLUICE = str(Path(sys.executable).with_name("sluice"))
RANDOM = '''

def departures(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:
    """Draw the number of departures."""
    counted = departures_as_they_are(flights, airlines=airlines)
    dice = getattr(F, "".join(("ra", "nd")))  # spelt out, `sluice check` refuses it
    return counted.withColumn("departed", (dice() * 1e9).cast("long"))
'''

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]


def proven(place: DriverPlace, *options: str) -> tuple[int, dict[str, Any]]:
    """Run the command and return its exit code and report."""
    command = [SLUICE, "prove", "departures", *options, "-o", "json"]
    ended = subprocess.run(
        command, env=place.environment(), capture_output=True, text=True, check=False, timeout=800, cwd=place.home
    )
    assert ended.stdout, ended.stderr[-3000:]
    return ended.returncode, json.loads(ended.stdout)


def topics(broker: BrokerProcess) -> list[str]:
    with KafkaPythonAdministration((broker.bootstrap,), {}) as administration:
        return [name for name in administration.names() if name.startswith("prove_")]


def test_a_sound_pipeline_is_proven_though_its_driver_is_killed(broker: BrokerProcess, tmp_path: Path) -> None:
    place = place_at(tmp_path / "state", broker)
    code, report = proven(place, "--rate", "20", "--seconds", "10", "--fault", "kill-driver")
    assert (code, report["verdict"], report["findings"]) == (0, "proven", [])
    (fault,) = report["faults"]
    assert "is gone, with exit code -9" in fault["evidence"]
    assert (fault["healed"], report["sent"]["acknowledged"] > 200, report["intervals_compared"] >= 6) == (True,) * 3
    assert (report["covered"], report["uncovered"]) == (["flights_raw", "departures", "departures_live"], [])
    assert topics(broker) == []
    (folder,) = (place.state / "proofs").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["journal.jsonl", "report.html", "report.json"]


def test_every_other_fault_strikes_and_is_survived(broker: BrokerProcess, tmp_path: Path) -> None:
    place = place_at(tmp_path / "state", broker)
    faults = ("kill-jvm", "pause-driver", "lose-checkpoint")
    options = (part for fault in faults for part in ("--fault", fault))
    code, report = proven(place, "--rate", "10", "--seconds", "20", *options)
    assert (code, report["verdict"], report["findings"]) == (0, "proven", [])
    assert [fault["name"] for fault in report["faults"]] == list(faults)
    evidence = [fault["evidence"] for fault in report["faults"]]
    assert "is gone; the driver ended with exit code" in evidence[0]
    assert "were in state T" in evidence[1]
    assert "were there and are gone" in evidence[2]


def test_the_next_proof_removes_what_a_killed_one_has_left_behind(broker: BrokerProcess, tmp_path: Path) -> None:
    place = place_at(tmp_path / "state", broker)
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen([SLUICE, "prove", "departures"], env=place.environment(), stdout=said, stderr=said)

    def drivers() -> list[Path]:
        return [file.parent for file in place.state.glob("proofs/*/state/drivers/*/pid.json")]

    assert wait_until(lambda: bool(drivers()), SystemClock(), deadline_seconds=120), (tmp_path / "said").read_text()
    process.kill()
    process.wait()
    (driver,) = drivers()
    assert marked(DRIVER_MARK, str(driver))
    assert len(topics(broker)) == 1
    said_by_next: list[str] = []
    assert remove_leftovers(place.project(), said_by_next.append) == 1
    assert "of departures left behind: topic prove_" in said_by_next[0]
    assert marked(DRIVER_MARK, str(driver)) == []
    assert topics(broker) == []
    (folder,) = (place.state / "proofs").iterdir()
    assert [path.name for path in folder.iterdir()] == ["journal.jsonl"]
    assert remove_leftovers(place.project(), said_by_next.append) == 0


def test_a_transform_that_draws_random_numbers_is_convicted(broker: BrokerProcess, tmp_path: Path) -> None:
    place = place_at(tmp_path / "state", broker).with_own_project()
    transform = place.home / "spark_jobs" / "transforms" / "departures.py"
    honest = transform.read_text(encoding="utf-8")
    transform.write_text(
        honest.replace("def departures(", "def departures_as_they_are(") + RANDOM,
        encoding="utf-8",
    )
    code, report = proven(place, "--rate", "20", "--seconds", "10")
    assert (code, report["verdict"]) == (1, "broken")
    faults = {(finding["fault"], finding["where"]) for finding in report["findings"]}
    assert ("interval_differs", "departures") in faults
    assert {where for _, where in faults} <= {"departures", "departures_live"}
    assert topics(broker) == []
