"""`sluice mirror` over clusters in memory: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sluice.cli.topics import mirror
from sluice.errors import RefusedError, SpecError
from sluice.project.tables import ProjectTables
from sluice.streams.life.attempts import Desired
from tests.unit.mirrors.mirror_bench import MirrorBench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MirrorBench:
    """Three records in each partition, of which two are copied and one is read."""
    bench = MirrorBench(tmp_path)
    bench.send(3)
    for partition in (0, 1):
        bench.copy(0, 1, partition=partition)
    bench.begin()
    read = {"flights/0": 1, "flights/1": 1}
    monkeypatch.setattr(ProjectTables, "raw_position", lambda _self, _topic: bench.raw_position(read))
    monkeypatch.setattr(mirror, "_open", lambda: bench.mirrors)
    return bench


def sluice(*arguments: str) -> Result:
    return CliRunner().invoke(mirror.app, list(arguments), catch_exceptions=False)


@pytest.mark.usefixtures("bench")
def test_status_and_lag_are_for_people_and_programs() -> None:
    assert "never started" in " ".join(sluice("status").stdout.split())
    assert json.loads(sluice("status", "-o", "json").stdout)["standby"]["health"] == "STOPPED"
    assert "flights/1" in sluice("lag", "standby").stdout
    partitions = json.loads(sluice("lag", "standby", "-o", "json").stdout)["partitions"]
    assert [(each["copied"], each["end"]) for each in partitions] == [(2, 3), (2, 3)]


@pytest.mark.usefixtures("bench")
def test_offsets_are_translated_and_what_is_none_is_refused() -> None:
    found = json.loads(sluice("translate", "standby", "flights/0=1", "-o", "json").stdout)
    assert found["flights/0"]["at"] == 2
    assert "flights/0" in sluice("translate", "standby", "flights/0=1").stdout
    for wrong in ("latest", "flights=1"):
        with pytest.raises(SpecError):
            sluice("translate", "standby", wrong)


def test_a_rehearsal_that_is_not_exact_is_an_exit_code(bench: MirrorBench) -> None:
    exact = sluice("rehearse", "standby", "flights")
    assert exact.exit_code == 0
    assert "Would be lost, because it is not copied: flights/0 offsets 2 to 2" in exact.stdout
    bench.copy(2, value=b"another")
    inexact = sluice("rehearse", "standby", "flights", "-o", "json")
    assert inexact.exit_code == 1
    assert json.loads(inexact.stdout)["exact"] is False


def test_a_fail_over_is_confirmed_and_says_how_it_goes_on(bench: MirrorBench) -> None:
    with pytest.raises(RefusedError, match="no stop of it is on record"):
        sluice("failover", "standby", "flights", "--why", "lost", "--yes")
    for unit in ("flights", "mirror_standby"):
        bench.project.records.registry().set_desired_state(unit, Desired.STOPPED, by="ada", why="lost")
    with pytest.raises(SpecError):
        sluice("failover", "standby", "flights", "--why", "lost")  # no terminal to confirm at
    done = sluice("failover", "standby", "flights", "--why", "lost", "--yes")
    assert done.exit_code == 0
    assert "SLUICE_DEPLOYMENT=reserve sluice streams start flights" in done.stdout
    newest = bench.project.streams.epochs("raw_flights").newest()
    assert newest is not None
    assert newest.offsets == {"flights/0": 2, "flights/1": 2}


@pytest.mark.usefixtures("bench")
def test_logs_and_stops_of_what_is_not_there_say_so() -> None:
    with pytest.raises(RefusedError, match="standby was never started"):
        sluice("logs", "standby")
    for command in ("logs", "stop", "start", "lag"):
        with pytest.raises(SpecError, match="there is no mirror 'other'"):
            sluice(command, "other")
    assert "absent" in sluice("stop", "standby").stdout
