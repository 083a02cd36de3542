"""Airflow itself finds a connection in a file, and shows neither it nor where it failed to be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
CODE = """
from airflow.sdk import BaseHook
print("found", BaseHook.get_connection("hook").host)
"""


def asked(home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Ask Airflow for the connection `hook` in a process of its own, which reads its own configuration."""
    compose = yaml.safe_load((ROOT / "docker-compose.yaml").read_text(encoding="utf-8"))
    backend = compose["x-airflow"]["environment"]["AIRFLOW__SECRETS__BACKEND"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    return subprocess.run(
        [sys.executable, "-c", CODE],
        env={**kept, "AIRFLOW_HOME": str(home), "AIRFLOW__SECRETS__BACKEND": backend, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("written", ["https://ada:hunter22@hooks.example.org/path\n", '{"host": "hooks.example.org"}'])
def test_a_connection_comes_from_a_file(tmp_path: Path, written: str) -> None:
    (tmp_path / "hook").write_text(written)
    done = asked(tmp_path, AIRFLOW_CONN_HOOK_FILE=str(tmp_path / "hook"))
    assert "found hooks.example.org" in done.stdout, done.stderr


def test_a_file_that_is_not_there_is_said_in_the_log(tmp_path: Path) -> None:
    done = asked(tmp_path, AIRFLOW_CONN_HOOK_FILE=str(tmp_path / "nothing"))
    assert done.returncode
    assert "AIRFLOW_CONN_HOOK_FILE names" in done.stdout + done.stderr
    assert "isn't defined" in done.stderr
