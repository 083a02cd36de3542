"""An Airflow of our own, in the home that all tests share, and a project with a driver that does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.airflow.runtime import open_project
from sluice.project.project import Project
from tests.airflow_home import HOME
from tests.editing import copy_project

PROJECT = Path(__file__).parents[3]

DRIVER = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
signal.sigwait({signal.SIGTERM})
"""


@pytest.fixture(scope="session")
def airflow_database() -> Path:
    """A migrated metadata database."""
    from airflow.utils.db import initdb  # noqa: PLC0415 - after AIRFLOW_HOME is set

    initdb()
    return HOME / "airflow.db"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project of its own, with a driver that waits for SIGTERM; whatever a test starts is stopped."""
    copy_project(tmp_path)
    (tmp_path / "spark_jobs" / "stream.py").write_text(DRIVER, encoding="utf-8")
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    opened = open_project()
    yield opened
    opened.streams.life("flights").stop("the test", "it is over", 10)


@pytest.fixture
def private_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder of the test's own."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))


@pytest.fixture
def no_runs(airflow_database: Path) -> None:
    """Each test begins without runs of the DAG `topics`: what one that failed left waiting is nobody's question."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 - after AIRFLOW_HOME is set
    from airflow.utils.session import create_session  # noqa: PLC0415 - the same

    assert airflow_database.is_file()
    with create_session() as session:
        session.query(DagRun).filter(DagRun.dag_id == "topics").delete()
