"""What a person sees in Airflow's UI, in a real browser: the DAGs, and the error of a broken spec. Needs Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.devstack.stack import down, up
from sluice.settings import Settings, settings

pytestmark = [pytest.mark.verify, pytest.mark.timeout(400)]

BROKEN = "include/pipelines/broken.yaml"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bring up a stack over a copy of the project in which one spec is broken."""
    home, source = tmp_path_factory.mktemp("project"), settings().home
    for folder in ("dags", "plugins", "spark_jobs", "include"):
        shutil.copytree(source / folder, home / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (home / BROKEN).write_text("name: broken\nsource: nowhere\ndriver: broken\n")
    place = Settings(home=home, state=home / ".sluice")
    try:
        yield up(place).airflow_url
    finally:
        down(place)


@pytest.fixture(scope="module")
def chromium() -> str:
    """Find the browser; a required test that lacks it fails and says so."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "this test needs Chromium: apt-get install chromium"
    return found


def shown(chromium: str, url: str, profile: Path) -> str:
    """Return the page as the browser has it after its scripts ran."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    quiet = ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}"]
    command = [chromium, *options, *quiet, "--virtual-time-budget=20000", "--dump-dom", url]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_list_of_dags_shows_every_family_and_the_broken_unit(chromium: str, address: str, tmp_path: Path) -> None:
    page = shown(chromium, f"{address}/dags?paused=all", tmp_path)
    for dag in ("topics", "stream_flights", "stream_broken", "reconcile_streams"):
        assert dag in page


def test_the_broken_spec_is_an_import_error_with_its_line_and_disturbs_no_other_dag(address: str) -> None:
    with urllib.request.urlopen(f"{address}/api/v2/importErrors") as answer:  # noqa: S310  loopback
        errors = json.load(answer)["import_errors"]
    assert [Path(error["filename"]).name for error in errors] == ["spec_errors.py"]
    assert f"{BROKEN}:2" in errors[0]["stack_trace"]


def test_the_stub_of_a_broken_unit_shows_what_is_wrong(chromium: str, address: str, tmp_path: Path) -> None:
    assert "BROKEN" in shown(chromium, f"{address}/dags/stream_broken", tmp_path).upper()
