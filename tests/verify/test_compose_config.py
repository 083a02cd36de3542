"""Docker Compose itself accepts docker-compose.yaml. Needs the docker client with the compose plugin, and no engine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDS = "This test needs the docker client with its plugin `compose` 2.24 or newer (no engine has to run): "

pytestmark = pytest.mark.verify


def _compose(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `docker compose` without the variables and the .env of the person who runs the test."""
    environment = {k: v for k, v in os.environ.items() if k.startswith("DOCKER_") or k in {"PATH", "HOME"}}
    return subprocess.run(
        ["docker", "compose", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(autouse=True)
def _docker_compose_is_here() -> None:
    if shutil.which("docker") is None:
        pytest.fail(NEEDS + "there is no `docker` on PATH.", pytrace=False)
    if (version := _compose("version")).returncode:
        pytest.fail(NEEDS + f"`docker compose version` says: {version.stderr.strip()}", pytrace=False)


@pytest.mark.parametrize("environment", [os.devnull, ".env.example"])
def test_docker_compose_accepts_the_file(environment: str) -> None:
    done = _compose("--env-file", environment, "config", "--quiet")

    assert (done.returncode, done.stderr) == (0, "")


def test_docker_compose_refuses_a_file_with_a_misspelt_key(tmp_path: Path) -> None:
    broken = tmp_path / "docker-compose.yaml"
    text = (ROOT / "docker-compose.yaml").read_text(encoding="utf-8")
    broken.write_text(text.replace("mem_limit", "memory_limit", 1), encoding="utf-8")

    assert _compose("--file", str(broken), "config", "--quiet").returncode != 0
