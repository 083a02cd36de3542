"""Every command over a state folder that is read-only, or on a full disk: a sentence, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from sluice.cli.main import app
from sluice.control.database import migrate, open_database, sqlite_url
from tests.cli_walk import ARGUMENTS

NAMED = ["status -o json", "streams list", "streams start flights", "intervals list", "control rebuild"]
SAMPLE = [*NAMED, "backfill list", "quarantine cases", "alerts test", "up"]
ELSEWHERE = {
    *(
        "init",
        "demo",
        "new topic",
        "new pipeline",
        "new feed",
        "run",
        "topics place",
        "contracts fetch",
        "console",
        "serve",
        "explain",
        "docs",
    ),
}
READS = ("status", "status -o json", "streams list", "streams show flights", "backfill list", "quarantine cases")


def walked(how: str, folder: Path, *lines: str) -> dict[str, tuple[int | None, str]]:
    """Return what each command ended with and said."""
    folder.mkdir(exist_ok=True)
    migrate(open_database(sqlite_url(folder / "control.db")))
    command = ["unshare", "--map-root-user", "--mount", sys.executable, "-m", "tests.cli_walk", how, str(folder)]
    home = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{home}", "SLUICE_STATE": str(folder)}
    done = subprocess.run(
        [*command, *lines], cwd=home, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    return {str(result["command"]): (result["code"], str(result["said"])) for result in results}


def assert_sentences(found: dict[str, tuple[int | None, str]]) -> None:
    for command, (code, said) in found.items():
        assert "Traceback" not in said, (command, said)
        assert code in {0, 2, 3, 4, 5}, (command, code, said)
    for command in READS:
        if command in found:
            assert found[command][0] == 0, (command, found[command])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("how", ["read-only", "full"])
def test_a_bad_disk_is_a_sentence_and_what_can_be_read_is_shown(tmp_path: Path, how: str) -> None:
    found = walked(how, tmp_path / "state", *SAMPLE)
    assert_sentences(found)
    remedy = {"read-only": "make it writable", "full": "free some space"}[how]
    for command in ("streams start flights", "control rebuild", "up"):
        assert remedy in " ".join(found[command][1].split()), found[command]
        assert found[command][0] in {3, 4}


@pytest.mark.verify
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("how", ["read-only", "full"])
def test_no_command_shows_a_traceback_over_a_bad_disk(tmp_path: Path, how: str) -> None:
    assert_sentences(walked(how, tmp_path / "state"))


def test_the_walk_knows_every_command() -> None:
    walked_over = {tuple(line.split()) for line in ARGUMENTS}
    for name in commands(typer.main.get_group(app), ()):
        if " ".join(name) not in ELSEWHERE:
            assert any(line[: len(name)] == name for line in walked_over), name


def commands(command: Any, name: tuple[str, ...]) -> list[tuple[str, ...]]:  # noqa: ANN401 - typer's own click is private
    if not hasattr(command, "list_commands"):
        return [name]
    return [
        found for sub in command.list_commands(None) for found in commands(command.get_command(None, sub), (*name, sub))
    ]
