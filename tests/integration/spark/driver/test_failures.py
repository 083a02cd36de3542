"""Real drivers that fail: what Spark, Delta and Kafka raise then, and what the driver leaves of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.processes import descendants
from sluice.settings import Settings
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FILE, Failure, FailureClass, from_record
from tests.editing import edit
from tests.integration.spark.conftest import TRANSFORM, DriverPlace, two_days_of_values
from tests.matrix.recording import FaultRecorder
from tests.waiting import eventually

DAMAGED = (pytest.mark.verify, pytest.mark.proves("checkpoint-damaged"))


def last_words(place: DriverPlace) -> Failure | None:
    file = place.state / "drivers" / "local.flights.g2" / FILE
    return from_record(json.loads(file.read_text())) if file.exists() else None


def lose_metadata(place: DriverPlace) -> None:
    (place.state / "checkpoints" / "departures" / "metadata").unlink()


def newest(place: DriverPlace, log: str) -> Path:
    files = (place.state / "checkpoints" / "departures" / log).glob("[0-9]*")
    return max(files, key=lambda file: int(file.name))


def cut_newest_offsets(place: DriverPlace) -> None:
    newest(place, "offsets").write_text("v1")


def name_a_column_that_is_not_there(place: DriverPlace) -> None:
    edit(place.home / TRANSFORM, 'F.count_if(F.col("cancelled"))', 'F.count_if(F.col("canceled"))')


def fail_on_a_record(place: DriverPlace) -> None:
    edit(place.home / TRANSFORM, "F.max(delay)", 'F.max(delay / (F.col("dep_delay_min") - F.col("dep_delay_min")))')
    for read_before in ("checkpoints", "tables"):
        shutil.rmtree(place.state / read_before)


def lose_the_broker(place: DriverPlace) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    write_endpoints(Settings(state=place.state).folder, Endpoints(kafka_bootstrap=(nobody,), airflow_url=""))


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("two_days")
@pytest.mark.parametrize(
    ("damage", "kind", "error"),
    [
        pytest.param(lose_metadata, FailureClass.CORRUPT, "CorruptionError", id="metadata", marks=DAMAGED),
        pytest.param(name_a_column_that_is_not_there, FailureClass.CODE, "UNRESOLVED_COLUMN", id="column"),
        pytest.param(
            lose_the_broker, FailureClass.TRANSIENT, "UnreachableError", id="broker", marks=pytest.mark.verify
        ),
        pytest.param(cut_newest_offsets, FailureClass.CORRUPT, "", id="offsets", marks=DAMAGED),
        pytest.param(fail_on_a_record, FailureClass.CODE, "DIVIDE_BY_ZERO", id="record", marks=pytest.mark.verify),
    ],
)
def test_a_failure_leaves_its_class_in_the_exit_code_and_in_words(
    own: DriverPlace, damage: Callable[[DriverPlace], None], kind: FailureClass, error: str, faults: FaultRecorder
) -> None:
    damage(own)

    failed = own.run(generation=2)

    said = last_words(own)
    assert said is not None, f"{failed.returncode}: {failed.stdout[-2000:]} {failed.stderr[-2000:]}"
    assert (said.kind, failed.returncode) == (kind, ExitCode[kind.name]), str(said)
    assert said.error.startswith(error), str(said)
    if faults.reports:
        faults.struck(f"exit code {failed.returncode}: {said.error}")
        faults.counted(own.census(two_days_of_values()))


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("two_days")
@pytest.mark.proves("jvm-killed")
def test_a_jvm_that_is_killed_beneath_its_driver_is_no_failure_of_the_broker(
    own: DriverPlace, faults: FaultRecorder
) -> None:
    places = {"SLUICE_HOME": str(own.home), "SLUICE_STATE": str(own.state)}
    main = own.home / "spark_jobs" / "stream.py"
    progress = own.state / "progress" / "departures.json"
    progress.unlink(missing_ok=True)
    log = own.state / "driver.log"
    with log.open("w") as output:
        driver = subprocess.Popen(
            [sys.executable, str(main), "--unit", "flights", "--generation", "2"],
            env={**os.environ, **places},
            start_new_session=True,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        eventually(progress.exists, seconds=240)
        (java,) = [pid for pid in descendants(driver.pid) if "java" in Path(f"/proc/{pid}/comm").read_text()]
        os.kill(java, signal.SIGKILL)
        assert driver.wait(120) == ExitCode.JVM_LOST, log.read_text()[-5000:]
    finally:
        driver.kill()
    faults.struck(f"Java with the process id {java} is gone, and the driver ended with {ExitCode.JVM_LOST!r}")
    faults.counted(own.census(two_days_of_values()))
    assert "incubator" not in log.read_text()
    said = last_words(own)
    assert said is not None
    assert said.kind is FailureClass.KILLED
