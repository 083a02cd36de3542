"""The command line over the real control database, the real launcher and a driver that is a small Python program."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sluice.cli.streams.commands import app
from sluice.errors import NotReadyError, RefusedError, SpecError
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.streams.failures.advice import advice
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.attempts import Desired
from tests.editing import edit
from tests.twins.spark_master import MASTER, MasterPage, application, serving, worker
from tests.waiting import eventually

DRIVER = """
import signal, sys, threading
ended = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ended.set())
print("driver", *sys.argv[1:], flush=True)
ended.wait(60)
print("ended", flush=True)
"""
HOME = Settings().home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with the repository's specs and a driver without Spark."""
    home = tmp_path / "project"
    for kind in ("pipelines", "topics", "feeds", "access", "deployments"):
        shutil.copytree(HOME / "include" / kind, home / "include" / kind)
    shutil.copytree(HOME / "spark_jobs" / "transforms", home / "spark_jobs" / "transforms")
    (home / "spark_jobs" / "stream.py").write_text(DRIVER)
    monkeypatch.setenv("SLUICE_HOME", str(home))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("SLUICE_DEPLOYMENT", raising=False)
    yield home
    project = Project.open_tolerant(settings())
    for attempt in project.records.registry().attempts("flights"):
        project.processes.launcher().kill(attempt.key)


def sluice_streams(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def shown() -> dict[str, Any]:
    answer = sluice_streams("show", "flights", "-o", "json")
    assert answer.exit_code == 0
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def wait_until_it_listens(generation: int = 1) -> None:
    """Wait until a driver can be asked to stop: before that it knows no way to end but at once."""
    log = Project.open_tolerant(settings()).processes.launcher().log(f"local.flights.g{generation}")
    eventually(lambda: "driver" in log.read_text())


@pytest.mark.usefixtures("home")
def test_a_unit_is_started_adopted_restarted_and_stopped() -> None:
    assert "flights: started, as generation 1 (it has never run)" in sluice_streams("start", "flights").stdout
    assert "flights: nothing was started: generation 1 lives" in sluice_streams("start", "flights").stdout
    assert shown()["driver"]["state"] == "running"
    wait_until_it_listens()
    assert "flights: started, as generation 2" in sluice_streams("restart", "flights", "--why", "upgrade").stdout
    wait_until_it_listens(2)
    assert "local.flights.g2 stopped as requested" in sluice_streams("stop", "flights", "--why", "night").stdout
    after = shown()
    assert (after["desired"]["state"], after["desired"]["why"]) == ("stopped", "night")
    assert [(a["generation"], a["state"], a["exit_code"]) for a in after["attempts"]] == [
        (2, "ended", 0),
        (1, "ended", 0),
    ]
    assert {v["health"] for v in after["streams"].values()} == {"STOPPED"}


@pytest.mark.usefixtures("home")
def test_a_driver_that_lives_without_a_broker_to_ask_is_unknown() -> None:
    sluice_streams("start", "flights")
    listed = json.loads(sluice_streams("list", "-o", "json").stdout)
    verdict = listed["flights"]["departures"]
    assert verdict["health"] == "UNKNOWN"
    assert verdict["why"].startswith("Could not check the broker; The stack of ")


@pytest.mark.usefixtures("home")
def test_a_unit_that_never_ran_is_stopped_and_says_how_to_start_it() -> None:
    assert "sluice streams start flights" in " ".join(sluice_streams("list").stdout.split())
    assert "It never ran." in sluice_streams("show", "flights").stdout


@pytest.mark.usefixtures("home")
def test_logs_are_those_of_the_latest_attempt_and_followed_to_the_drivers_end() -> None:
    sluice_streams("start", "flights")
    project = Project.open_strict(settings())
    log = project.processes.launcher().log("local.flights.g1")
    eventually(lambda: "driver" in log.read_text())
    project.streams.life("flights").stop("test", "end of log", 20)
    assert sluice_streams("logs", "flights", "-f").stdout.endswith("driver --unit flights --generation 1\nended\n")


@pytest.mark.usefixtures("home")
def test_logs_of_what_never_ran_say_so() -> None:
    with pytest.raises(NotReadyError, match="flights has no attempt"):
        sluice_streams("logs", "flights")


@pytest.mark.usefixtures("home")
def test_a_unit_that_no_spec_names_is_not_started() -> None:
    with pytest.raises(SpecError, match="there is no unit 'fligths'; the specs name flights"):
        sluice_streams("start", "fligths")


def test_a_broken_spec_keeps_a_start_back_but_no_stop(home: Path) -> None:
    sluice_streams("start", "flights")
    wait_until_it_listens()
    (home / "include" / "pipelines" / "broken.yaml").write_text("name: 7")
    with pytest.raises(SpecError):
        sluice_streams("restart", "flights")
    assert "stopped as requested" in sluice_streams("stop", "flights").stdout


def test_a_driver_that_died_is_shown_with_its_exit_code_and_where_to_read_why(home: Path) -> None:
    (home / "spark_jobs" / "stream.py").write_text("raise SystemExit(12)")
    project = Project.open_strict(settings())
    project.records.registry().set_desired_state("flights", Desired.RUNNING, by="test", why="a damaged checkpoint")
    attempt = project.streams.life("flights").claim().attempt
    assert attempt is not None
    project.processes.launcher().submit(attempt.key, project.processes.driver(attempt))
    eventually(lambda: project.processes.launcher().find(attempt.key).dead)
    project.streams.life("flights").record_end()
    verdict = shown()["streams"]["departures"]
    assert verdict["health"] == "STOPPED"
    assert "its checkpoint or the ledger contradicts itself" in verdict["why"]
    assert verdict["what_to_do"] == advice(FailureClass.CORRUPT, "flights")


FAILING = """
import json, os, pathlib
said = {"class": "corrupt", "error": "MALFORMED_LOG_FILE", "message": "offsets/7", "at": "2013-01-07T12:00:00+00:00"}
said["details"] = "offsets/7\\nis 12 bytes of a plan"
pathlib.Path(os.environ["SLUICE_DRIVER"], "failure.json").write_text(json.dumps(said))
raise SystemExit(12)
"""


def test_what_is_halted_says_why_in_every_face_and_is_resumed(home: Path) -> None:
    (home / "spark_jobs" / "stream.py").write_text(FAILING)
    project = Project.open_strict(settings())
    project.records.registry().set_desired_state("flights", Desired.RUNNING, by="test", why="a damaged checkpoint")
    attempt = project.streams.life("flights").claim().attempt
    assert attempt is not None
    project.processes.launcher().submit(attempt.key, project.processes.driver(attempt))
    eventually(lambda: project.processes.launcher().find(attempt.key).dead)

    found = shown()

    (entry,) = found["attempts"]
    assert (entry["failure"], entry["exit_code"]) == ("corrupt", 12)
    assert entry["reason"].endswith("(MALFORMED_LOG_FILE: offsets/7)")
    assert entry["log"].endswith("local.flights.g1/driver.log")
    assert found["next"] == f"HALTED: {found['halted']}"
    assert found["halted"].startswith("generation 1 failed: its checkpoint")
    assert "generation 1 failed" in found["streams"]["departures"]["why"]
    text = " ".join(sluice_streams("show", "flights").stdout.split())
    assert "Next: HALTED: generation 1" in text
    assert "then run `sluice streams resume flights`" in text
    assert text.count("is 12 bytes of a plan") == 1
    assert text.endswith("The full error: offsets/7 is 12 bytes of a plan")
    (home / "spark_jobs" / "stream.py").write_text(DRIVER)
    assert "flights: started, as generation 2" in sluice_streams("resume", "flights", "--why", "repaired").stdout
    assert shown()["desired"]["why"].startswith("repaired (overrides: generation 1 ")
    assert shown()["halted"] == ""
    with pytest.raises(RefusedError, match="not HALTED"):
        sluice_streams("resume", "flights", "--why", "again")


@pytest.mark.usefixtures("home")
def test_a_driver_without_a_trace_is_forced_with_a_reason() -> None:
    project = Project.open_strict(settings())
    project.records.registry().set_desired_state("flights", Desired.RUNNING, by="test", why="launch")
    project.records.registry().intend("flights", after_generation=0, key="local.flights.g1")
    project.records.registry().bind("flights", 1)
    with pytest.raises(RefusedError, match="sluice streams force"):
        sluice_streams("start", "flights")
    with pytest.raises(RefusedError, match=r"not known whether flights is stopped.*--generation 1`.*streams force"):
        sluice_streams("stop", "flights")
    assert shown()["desired"]["state"] == Desired.STOPPED
    said = CliRunner().invoke(app, ["force", "flights"], input="the machine was replaced\n", catch_exceptions=False)
    assert "Generation 1 of flights is recorded as ended: declared dead by" in said.stdout
    assert "flights: started, as generation 2" in sluice_streams("start", "flights").stdout
    assert shown()["attempts"][1]["failure"] == "forced"


def test_a_cluster_without_room_is_said_to_have_none_and_the_driver_starts_when_it_has(home: Path) -> None:
    with serving(MasterPage([worker(used=1), worker()], [application("sluice-local-weather", 1)])) as page:
        spec = home / "include" / "deployments" / "local.yaml"
        spec.write_text(f'{spec.read_text()}spark: {{master: "{MASTER}", page: "{page.address}"}}\n')
        with pytest.raises(NotReadyError, match=r"need at least 2 .*; free: 1, used by sluice-local-weather \(1\)"):
            sluice_streams("start", "flights")
        waiting = shown()
        assert waiting["desired"]["state"] == Desired.RUNNING
        assert "free: 1" in waiting["streams"]["departures"]["why"]
        assert waiting["next"].startswith("the reconciler submits it as soon as there is capacity: ")
        page.workers, page.applications = [worker(), worker()], []
        assert sluice_streams("start", "flights").exit_code == 0
        assert [attempt["generation"] for attempt in shown()["attempts"]] == [1]


def test_a_unit_whose_raw_table_nobody_fills_says_what_to_start(home: Path) -> None:
    edit(home / "include/pipelines/departures.yaml", "driver: flights ", "driver: board ")
    said = sluice_streams("start", "board").stdout
    assert "board: started, as generation 1" in said
    assert "nobody has requested flights to run: `sluice streams start flights`" in " ".join(said.split())
    sluice_streams("start", "flights")
    again = sluice_streams("start", "board", "-o", "json")
    assert json.loads(again.stdout)["waits_for_units"] == []
    assert "nobody has requested" not in sluice_streams("restart", "board").stdout
    sluice_streams("stop", "flights")
    assert json.loads(sluice_streams("start", "board", "-o", "json").stdout)["waits_for_units"] == ["flights"]
    sluice_streams("stop", "board")
