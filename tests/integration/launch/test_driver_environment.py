"""Keeper, driver and its children have the environment that the job names, and no other variable."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sluice.launch.launcher import LocalLauncher
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
