"""Keeper, driver and its children have the environment that the job names, and no other variable."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sluice.launch.launcher import LocalLauncher
from sluice.secrecy.secret_values import forms
from sluice.settings import EVERY_PROCESS
from tests.integration.launch.drivers import (
    Drivers,
)
from tests.integration.launch.keepers import KEY


def test_a_driver_gets_the_jobs_environment_and_nothing_of_airflows(
    launcher: LocalLauncher, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", "spark://:secret@host")
    monkeypatch.setenv("SLUICE_STACK", "/somewhere")
    monkeypatch.setenv("LANG", "C.UTF-8")
    launcher.submit(KEY, drivers.job("ready(environment=dict(os.environ))", SLUICE_GENERATION="1"))
    seen = drivers.one_ready()["environment"]
    assert isinstance(seen, dict)
    assert {"SLUICE_GENERATION", "LANG", "PATH", "SLUICE_DRIVER"} <= seen.keys()
    assert not {"AIRFLOW_CONN_SPARK_DEFAULT", "SLUICE_STACK"} & seen.keys()


POISON = {
    "SLUICE_CONTROL_URL": "postgresql://sluice:hunter22@control/sluice",
    "SLUICE_PASSWORD_FEED": "hunter22",
    "SLUICE_CONNECTION_OTHERS": "postgresql://others:hunter22@db/others",
    "AIRFLOW_CONN_MAIL": "smtp://ada:hunter22@mail",
    "AWS_SECRET_ACCESS_KEY": "hunter22",
    "HTTPS_PROXY": "http://ada:hunter22@proxy:3128",
}


def test_neither_keeper_nor_driver_nor_its_children_have_what_the_job_does_not_name(
    launcher: LocalLauncher, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**POISON, "SLUICE_CONNECTION_OWN": "postgresql://own", "LC_ALL": "C.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    job = drivers.job("ready(children=[child()])\nwhile True: signal.pause()", SLUICE_HOME="/home/project")
    driver = launcher.submit(KEY, replace(job, inherits=frozenset({"SLUICE_CONNECTION_OWN", "NOT_SET"})))
    ready = drivers.one_ready()
    keeper = json.loads(launcher.log(KEY).with_name("pid.json").read_text())["keeper"]
    assert isinstance(ready["children"], list)
    for pid in (driver.pid, keeper, *ready["children"]):
        lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        names = {line.partition(b"=")[0].decode() for line in lines if line}
        assert {"PATH", "LC_ALL", "SLUICE_HOME", "SLUICE_DRIVER", "SLUICE_CONNECTION_OWN"} <= names
        allowed = {*EVERY_PROCESS, *job.environment, "SLUICE_DRIVER", "SPT_NOENV", "SLUICE_CONNECTION_OWN"}
        assert {name for name in names if not name.startswith("LC_")} <= allowed
        assert not any(b"hunter22" in line for line in lines)


READING = """
sys.path[:0] = {path!r}
from sluice.alerts.redaction import Redaction
from sluice.settings import connection_url
url = connection_url("own")
print("refused:", Redaction.of_environment(os.environ)("could not connect to " + url), flush=True)
ready(length=len(url))
while True: signal.pause()
"""


@pytest.mark.parametrize("form", ["FILE", "COMMAND"])
def test_a_secret_that_a_driver_reads_is_in_no_process_record_or_log(
    launcher: LocalLauncher, drivers: Drivers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    url = "postgresql://own:hunter22@db/own"
    secret = tmp_path / "secret"
    secret.write_text(f"{url}\n")
    monkeypatch.setenv(f"SLUICE_CONNECTION_OWN_{form}", str(secret) if form == "FILE" else f"cat {secret}")
    job = replace(drivers.job(READING.format(path=sys.path)), inherits=frozenset(forms("SLUICE_CONNECTION_OWN")))
    driver = launcher.submit(KEY, job)
    assert drivers.one_ready()["length"] == len(url)
    keeper = json.loads(launcher.log(KEY).with_name("pid.json").read_text())["keeper"]
    for pid in (driver.pid, keeper):
        for what in ("environ", "cmdline"):
            assert b"hunter22" not in Path(f"/proc/{pid}/{what}").read_bytes()
    assert "refused: could not connect to ***" in launcher.log(KEY).read_text()
    kept = [path for path in (tmp_path / "drivers").rglob("*") if path.is_file()]
    assert kept
    assert [path for path in kept if b"hunter22" in path.read_bytes()] == []
