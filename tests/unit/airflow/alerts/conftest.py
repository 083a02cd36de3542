"""An Airflow whose alerts go to a pager."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.airflow.alerts.alerting_airflow import Airflow


@pytest.fixture
def airflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Airflow:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    airflow = Airflow()
    airflow.rounds()
    return airflow
