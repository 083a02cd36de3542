"""The wheel alone is enough: a project on it is written, checked and tested where this repository is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluice.settings import settings

pytestmark = [pytest.mark.verify, pytest.mark.timeout(2400)]

REPOSITORY = Path(__file__).parents[2]
NOT_INHERITED = ("SLUICE_", "AIRFLOW", "PYTHON", "VIRTUAL_ENV", "PYTEST")
PARSE_DAGS = REPOSITORY / "tests" / "integration" / "airflow" / "parse_dags.py"
BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)
WHERE = "import sluice; print(sluice.__file__)"


@dataclass(frozen=True)
class Installation:
    """A virtual environment with the wheel, and a folder beside it.

    Attributes:
        folder: where commands run, until there is a project.
        bin: with `sluice`, `pytest` and `python`.
    """

    folder: Path
    bin: Path

    def run(self, program: str, *arguments: str, at: str = ".") -> str:
        """Run a program of the environment and return what it printed; it must succeed."""
        return succeeding([str(self.bin / program), *arguments], self.folder / at)


def succeeding(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout + done.stderr


def environment() -> Mapping[str, str]:
    """Return our environment without what leads back to this repository, and with the jars that it has fetched."""
    found = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    return {**found, "SLUICE_JARS": str(settings().jars), "AIRFLOW_HOME": os.environ["AIRFLOW_HOME"]}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Build the wheel, and install it with all that it names."""
    folder = tmp_path_factory.mktemp("wheel")
    succeeding([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], REPOSITORY)
    (wheel,) = folder.glob("*.whl")
    succeeding([sys.executable, "-m", "venv", str(folder / "venv")], folder)
    succeeding([str(folder / "venv" / "bin" / "pip"), "install", "--quiet", str(wheel), "pytest"], folder)
    return Installation(folder, folder / "venv" / "bin")


@pytest.fixture(scope="module")
def project(installed: Installation) -> str:
    """A new project with one topic and one pipeline."""
    told = installed.run("sluice", "init", "shop")
    assert "make setup" in told
    told = installed.run("sluice", "check", at="shop")
    assert "sluice new topic" in told
    times = [BEGIN + timedelta(minutes=10 * number) for number in range(12)]
    lines = [json.dumps({"order": n, "at": at.isoformat(), "price": 5 + n % 7}) for n, at in enumerate(times)]
    (installed.folder / "shop" / "orders.jsonl").write_text("\n".join(lines) + "\n")
    installed.run("sluice", "new", "topic", "orders", "--sample", "orders.jsonl", "--arrival-time", "at", at="shop")
    installed.run("sluice", "new", "pipeline", "orders_per_hour", "--source", "orders", at="shop")
    return "shop"


def test_the_package_comes_from_the_wheel_alone(installed: Installation) -> None:
    assert Path(installed.run("python", "-c", WHERE).strip()).is_relative_to(installed.bin.parent)


def test_the_wheel_brings_the_lock_of_the_jars_and_the_decoders_sources(installed: Installation) -> None:
    assert installed.run("python", "-m", "sluice.devstack.jars") == ""


def test_the_wheel_brings_the_pages_to_which_messages_refer(installed: Installation) -> None:
    assert installed.run("sluice", "docs", "runbook#halted").startswith("## HALTED")


def test_the_specs_of_the_project_are_sound(installed: Installation, project: str) -> None:
    assert "1 topic, 1 pipeline" in installed.run("sluice", "check", at=project)


def test_a_pipeline_runs_over_a_sample(installed: Installation, project: str) -> None:
    told = installed.run("sluice", "run", "orders_per_hour", "--sample", "orders.jsonl", at=project)
    assert "2026-01-01T12:00:00Z" in told


def test_its_tests_pass_dag_files_and_transform_among_them(installed: Installation, project: str) -> None:
    told = installed.run("pytest", "-v", at=project)
    assert "test_orders_per_hour.py::test_records_are_counted_by_the_hour PASSED" in told
    assert "test_a_dag_file_can_be_imported[streams.py] PASSED" in told


def test_airflow_finds_the_dags_of_the_project(installed: Installation, project: str) -> None:
    result = installed.folder / "parsed.json"
    installed.run("python", str(PARSE_DAGS), "dags", str(result), at=project)
    parsed = json.loads(result.read_text(encoding="utf-8"))
    assert parsed["errors"] == {}
    assert {"topics", "stream_orders", "stream_orders_per_hour", "backfill_orders_per_hour"} <= set(parsed["dags"])
