"""An Airflow whose alerts go to a pager."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.settings import settings
from tests.unit.airflow.alerts.alerting_airflow import Airflow


@pytest.fixture
def airflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Airflow]:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    settings.cache_clear()
    airflow = Airflow()
    airflow.rounds()
    yield airflow
    settings.cache_clear()
