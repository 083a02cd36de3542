"""A project whose `departures` are settled for two days, and a `spark-submit` of our own on PATH."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from sluice.delta.log import append_entry
from sluice.intervals.entries import StreamEntry
from sluice.project.project import Project
from tests.settlements import lacking, settlement

DAY = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
END = {"flights/0": 10}


@dataclass(frozen=True)
class Spark:
    """What the fake does and was asked.

    Attributes:
        state: the project's state folder.
    """

    state: Path

    def behave(self, **behaviour: object) -> None:
        self.state.mkdir(parents=True, exist_ok=True)
        (self.state / "behaviour.json").write_text(json.dumps(behaviour), encoding="utf-8")

    @property
    def was_called(self) -> bool:
        return (self.state / "call.json").is_file()

    @property
    def call(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.state / "call.json").read_text(encoding="utf-8"))
        return found

    def options(self) -> dict[str, str]:
        """Return the main's options."""
        arguments = [argument for argument in self.call["arguments"] if argument.startswith("--") and "=" in argument]
        return dict(argument.removeprefix("--").split("=", 1) for argument in arguments)


def fake_spark(project: Project, monkeypatch: pytest.MonkeyPatch, path: str) -> Spark:
    """Put the fake on PATH."""
    home = project.settings.home
    bin_folder = home / "bin"
    bin_folder.mkdir()
    binary = bin_folder / "spark-submit"
    fake = Path(__file__).with_name("fake_spark_submit.py")
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake}" "$@"\n', encoding="utf-8")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:{path}")
    connection = {"conn_type": "spark", "host": "local[1]", "extra": {"deploy-mode": "client"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    spark = Spark(project.settings.state)
    spark.behave()
    return spark


def close(project: Project, until: datetime = DAY + timedelta(days=2)) -> None:
    """Let every interval up to a time be settled, of all records but the last; the first is on 1 January 2013."""
    raw, output = project.folder.table("flights_raw"), project.folder.table("departures")
    for table in (raw, output):
        DeltaTable.create(str(table), pa.schema([("hour", pa.timestamp("us", tz="UTC"))]))
    append_entry(raw, StreamEntry("raw_flights", 1, "", 0, {}, END))
    append_entry(output, settlement(DAY, until, {DAY: 1}, read={"flights/0": 9}, code=project.code_of("departures")))


def soil(project: Project, *hours: int) -> None:
    """Let these hours of 1 January 2013 lack the last record."""
    starts = (DAY + hour * HOUR for hour in hours)
    marks = lacking(project.tables.ledger("departures").closed_until, *starts, read=END)
    append_entry(project.folder.table("departures"), marks)
