from __future__ import annotations

import json

import pytest

from sluice.airflow.batches.spark_connection import at_connection, connection_master
from sluice.errors import NotConfiguredError
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.specs.load import load_catalog

REMOTE = "spark://spark-master:7077"


def connect(monkeypatch: pytest.MonkeyPatch, **connection: object) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", **connection}))


@pytest.mark.parametrize("connection", [{"host": REMOTE}, {"host": "spark://spark-master", "port": 7077}])
def test_a_standalone_master_is_read_as_spark_submit_reads_it(
    monkeypatch: pytest.MonkeyPatch, connection: dict[str, object]
) -> None:
    connect(monkeypatch, **connection)
    assert connection_master() == REMOTE


@pytest.mark.parametrize("host", ["local[2]", "yarn", "k8s://https://host:6443", ""])
def test_what_is_no_standalone_master_is_nothing_to_a_driver(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    connect(monkeypatch, host=host)
    assert connection_master() == ""


def test_masters_that_stand_by_are_named_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, host="spark://a:7077,b:7077")
    assert connection_master() == "spark://a:7077,b:7077"


def test_a_standalone_master_that_cannot_be_found_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect(monkeypatch, host="spark://a,b", port=7077)
    with pytest.raises(NotConfiguredError, match="spark_default cannot be used: found 'spark://a,b:7077'"):
        connection_master()


def test_the_connection_goes_before_the_deployment_and_the_settings_before_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect(monkeypatch, host=REMOTE)
    catalog = load_catalog(Settings().home / "include")
    assert at_connection(Project(Settings(), catalog)).processes.spark().master == REMOTE
    assert at_connection(Project(Settings(spark_master="local"), catalog)).processes.spark().master == "local"
