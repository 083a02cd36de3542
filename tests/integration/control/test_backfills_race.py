"""Processes that race for one range, through one SQLite file and one folder of locks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluice.control.backfills import SqlBackfills
from sluice.control.database import migrate, open_database, sqlite_url
from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.request import Mode, Request
from sluice.launch.backfill_lock import BackfillLock

RACERS = 4
RACER = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from sluice.control.backfills import SqlBackfills
from sluice.control.database import migrate, open_database
from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Request
from sluice.launch.backfill_lock import BackfillLock

url, folder, key = sys.argv[1:]
engine = open_database(url)
migrate(engine)
print("ready", flush=True)
sys.stdin.readline()
days = Interval(datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 2, tzinfo=UTC))
request = Request("departures", days, Mode.VERIFY, by=key)
lock = lambda name: BackfillLock(Path(folder) / name)
held = []

def hold(name):
    held.append(lock(name))
    held[-1].take()

try:
    claimed = SqlBackfills(engine, "local").claim(request, key, alive=lambda name: lock(name).held(), hold=hold).id
except RefusedError as error:
    claimed = None
print(json.dumps(claimed), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = sqlite_url(tmp_path / "control.db")
    migrate(open_database(url))
    return url


@pytest.fixture
def racers(tmp_path: Path, url: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that wait for the word, claim one range with keys of their own, and live until the next word."""
    commands = [[sys.executable, "-c", RACER, url, str(tmp_path / "backfills"), f"run-{n}"] for n in range(RACERS)]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for command in commands
    ]
    yield racers
    for racer in racers:
        racer.kill()
        racer.communicate()


def word(racer: subprocess.Popen[str]) -> None:
    assert racer.stdin is not None
    racer.stdin.write("go\n")
    racer.stdin.flush()


def answer(racer: subprocess.Popen[str]) -> str:
    assert racer.stdout is not None
    return racer.stdout.readline()


def test_of_processes_that_race_one_gets_the_range_and_its_death_frees_it(
    tmp_path: Path, url: str, racers: list[subprocess.Popen[str]]
) -> None:
    assert [answer(racer) for racer in racers] == ["ready\n"] * RACERS
    for racer in racers:
        word(racer)
    claims = [json.loads(answer(racer)) for racer in racers]
    [winner] = [racer for racer, claim in zip(racers, claims, strict=True) if claim is not None]
    [claimed] = [claim for claim in claims if claim is not None]

    backfills = SqlBackfills(open_database(url), "local")
    request = Request(
        "departures",
        Interval(datetime(2013, 1, 1, 23, tzinfo=UTC), datetime(2013, 1, 3, tzinfo=UTC)),
        Mode.CORRECT,
        by="ada",
    )

    def alive(name: str) -> bool:
        return BackfillLock(tmp_path / "backfills" / name).held()

    with pytest.raises(RefusedError, match=claimed):
        backfills.claim(request, "later", alive=alive)
    winner.send_signal(signal.SIGKILL)
    winner.wait(timeout=120)
    assert backfills.claim(request, "later", alive=alive).state is BackfillState.RUNNING
    assert backfills.get(claimed).state is BackfillState.FAILED
