"""Processes that race through one SQLite file: threads share a process's locks, processes share nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from sluice.control.database import open_database, sqlite_url
from sluice.control.registry import SqlRegistry

RACERS = 4
GENERATIONS = 12
RACER = """
import json, sys
from sluice.control.database import migrate, open_database
from sluice.control.registry import SqlRegistry
from sluice.streams.life.attempts import LostRaceError

engine = open_database(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
migrate(engine)
registry, won = SqlRegistry(engine, "local"), []
for generation in range(int(sys.argv[2])):
    try:
        won.append(registry.intend("flights", after_generation=generation, key=f"g{generation + 1}").generation)
    except LostRaceError:
        pass
print(json.dumps(won), flush=True)
"""


def test_processes_that_race_share_the_generations_and_none_is_given_twice(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "control.db")
    command = [sys.executable, "-c", RACER, url, str(GENERATIONS)]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(RACERS)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = [json.loads(racer.communicate(timeout=120)[0]) for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * RACERS
    assert sorted(generation for of_one in won for generation in of_one) == list(range(1, GENERATIONS + 1))
    attempts = SqlRegistry(open_database(url), "local").attempts("flights")
    assert [attempt.generation for attempt in reversed(attempts)] == list(range(1, GENERATIONS + 1))
