"""`sluice backfill` around a real process, with a batch that computes nothing."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.intervals.backfill.backfills import Backfill, BackfillState
from tests.twins.departures_project import DeparturesProject
from tests.waiting import eventually

BATCH = """
import json, os, sys, time
from datetime import datetime
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.request import Mode, Only, Request
from sluice.launch.backfill_claim import claimed
from sluice.project.project import Project
from sluice.settings import settings

asked = dict(argument[2:].split("=", 1) for argument in sys.argv[2:] if "=" in argument)
submitted = "--submitted" in sys.argv
project = Project.open_strict(settings())
folder, backfills = project.folder, project.records.backfills()
hours = Interval(datetime.fromisoformat(asked["from"]), datetime.fromisoformat(asked["to"]))
request = Request(asked["pipeline"], hours, Mode(asked["mode"]), asked["by"], asked["why"], Only(asked["only"]))
with claimed(backfills, folder.backfills, request, asked["key"], submitted=submitted) as backfill:
    backfills.advance(backfill.id, done=2, total=4)
    print("working", asked["why"], flush=True)
    if asked["why"] == "die":
        os.kill(os.getpid(), 9)
    while asked["why"] == "wait" and not backfills.get(backfill.id).cancel_requested_by:
        time.sleep(0.02)
    backfills.advance(backfill.id, done=4, total=4)
    outcome = "different" if asked["why"] == "differ" else "identical"
    result = {"compared": 4, "published": 0, "late_records": 0, "explained": 0, "unexplained": 0}
    (folder.backfill(backfill.id) / "result.json").write_text(json.dumps(result))
    state = BackfillState.CANCELLED if asked["why"] == "wait" else BackfillState.DONE
    backfills.end(backfill.id, state, outcome=outcome, why="")
sys.exit(0 if outcome == "identical" else 1)
"""
SLUICE = [sys.executable, "-c", "from sluice.cli.main import main; main()"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DeparturesProject]:
    """Four closed hours."""
    place = DeparturesProject.create(tmp_path, monkeypatch)
    place.settle(4, {0: 2, 1: 3, 3: 5})
    (place.home / "spark_jobs" / "batch.py").write_text(BATCH)
    yield place
    for found in place.project.records.backfills().recent():
        place.project.processes.backfill_lock(found.id).kill()


def command(why: str, *more: str) -> list[str]:
    hours = ["--from", "2013-01-01", "--to", "2013-01-01T04:00"]
    return [*SLUICE, "backfill", "run", "departures", *hours, "--why", why, *more]


def run(why: str, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(why, *more), capture_output=True, text=True, timeout=120, check=False)


def newest(place: DeparturesProject) -> Backfill | None:
    return next(iter(place.project.records.backfills().recent()), None)


def half_done(place: DeparturesProject) -> bool:
    found = newest(place)
    return found is not None and found.done == 2


def test_a_run_shows_its_progress_and_ends_with_the_result(place: DeparturesProject) -> None:
    ended = run("look", "-o", "json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert (found["state"], found["outcome"], found["exit_code"], found["reason"]) == ("done", "identical", 0, "look")
    assert found["result"]["compared"] == 4
    log = Path(found["log"])
    assert log == place.project.folder.backfill(found["id"]) / "batch.log"
    assert log.read_text() == "working look\n"


@pytest.mark.verify
def test_what_does_not_hold_is_the_exit_code(place: DeparturesProject) -> None:
    ended = run("differ")
    assert ended.returncode == 1
    assert "done different" in ended.stdout
    assert newest(place) is not None


def test_one_that_was_killed_says_so_and_is_resumed_under_its_key(place: DeparturesProject) -> None:
    ended = run("die", "--key", "nightly")
    assert ended.returncode == 1
    assert "gone; run it again with --key nightly" in ended.stdout
    assert "working die" in ended.stderr
    assert run("look", "--key", "nightly").returncode == 0
    assert [found.state for found in place.project.records.backfills().recent()] == [BackfillState.DONE]


def test_the_first_ctrl_c_asks_it_to_stop_and_its_end_is_waited_for(place: DeparturesProject) -> None:
    following = subprocess.Popen(command("wait"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with following:
        eventually(lambda: half_done(place))
        following.send_signal(signal.SIGINT)
        out, said = following.communicate(timeout=120)
    assert "It stops after the current chunk" in said
    assert "cancelled identical" in out
    found = newest(place)
    assert found is not None
    assert found.state is BackfillState.CANCELLED


@pytest.mark.verify
def test_ctrl_c_while_a_resumed_backfill_is_starting_ends_it(place: DeparturesProject) -> None:
    assert run("die", "--key", "nightly").returncode == 1
    started = place.home / "started"
    (place.home / "spark_jobs" / "batch.py").write_text(
        f"import time\nopen({str(started)!r}, 'w').close()\ntime.sleep(300)\n"
    )
    following = subprocess.Popen(command("look", "--key", "nightly"), stderr=subprocess.PIPE, text=True)
    with following:
        eventually(started.exists)
        following.send_signal(signal.SIGINT)
        _, said = following.communicate(timeout=120)
    assert following.returncode != 0, said
    found = newest(place)
    assert found is not None
    assert found.state in {BackfillState.CANCELLED, BackfillState.FAILED}, said  # it is followed a moment later
    assert "before it began" in found.why


def test_a_backfill_whose_process_has_not_begun_is_in_the_list_and_can_be_cancelled(place: DeparturesProject) -> None:
    (place.home / "spark_jobs" / "batch.py").write_text("import time\ntime.sleep(300)\n")
    following = subprocess.Popen(command("look"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with following:
        eventually(lambda: newest(place) is not None)
        found = newest(place)
        assert found is not None
        listed = subprocess.run(
            [*SLUICE, "backfill", "list", "-o", "json"], capture_output=True, check=True, timeout=120
        )
        assert [(one["id"], one["state"]) for one in json.loads(listed.stdout)] == [(found.id, "submitted")]
        cancel = [*SLUICE, "backfill", "cancel", found.id]
        cancelled = subprocess.run(cancel, capture_output=True, text=True, timeout=120, check=False)
        out, said = following.communicate(timeout=120)
    assert cancelled.returncode == 0, cancelled.stderr
    assert "before it began" in cancelled.stdout
    assert following.returncode == 1
    assert f"{found.id}: cancelled" in out
    assert re.search(r"submitted \d+ s ago, its process starts Spark", said)


@pytest.mark.verify
def test_a_process_that_ends_before_it_began_leaves_a_failure_with_its_log(place: DeparturesProject) -> None:
    (place.home / "spark_jobs" / "batch.py").write_text("import sys\nprint('no JVM')\nsys.exit(3)\n")
    ended = run("look")
    assert ended.returncode == 3
    found = newest(place)
    assert found is not None
    assert found.state is BackfillState.FAILED
    assert "exit code 3 before it claimed its range; its log is " in found.why
    assert "no JVM" in ended.stderr


def test_cancel_now_kills_the_process_and_records_who_did_it(place: DeparturesProject) -> None:
    (place.home / "spark_jobs" / "batch.py").write_text(BATCH.replace("cancel_requested_by", "outcome"))
    following = subprocess.Popen(command("wait"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with following:
        eventually(lambda: half_done(place))
        found = newest(place)
        assert found is not None
        cancel = [*SLUICE, "backfill", "cancel", found.id, "--now"]
        cancelled = subprocess.run(cancel, capture_output=True, text=True, timeout=120, check=False)
        following.communicate(timeout=120)
    assert cancelled.returncode == 0, cancelled.stderr
    assert f"{found.id} is cancelled: killed by" in cancelled.stdout
    assert following.returncode == 1
    assert not place.project.processes.backfill_lock(found.id).held()


@pytest.mark.verify
def test_on_a_terminal_the_progress_is_one_line_that_moves(place: DeparturesProject) -> None:
    master, terminal = pty.openpty()
    ended = subprocess.run(command("look"), stdout=subprocess.PIPE, stderr=terminal, timeout=120, check=False)
    os.close(terminal)
    said = os.read(master, 65536).decode()
    os.close(master)
    assert ended.returncode == 0
    assert "its process starts Spark" in said
    assert newest(place) is not None
