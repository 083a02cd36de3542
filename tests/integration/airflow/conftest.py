"""An Airflow of our own: a private home with SQLite, set before anything imports airflow.

Only AIRFLOW_HOME goes into the environment; the rest is in its airflow.cfg, so that other tests' processes inherit
nothing else.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.airflow.runtime import open_project
from sluice.project import Project
from sluice.settings import settings

HOME = Path(tempfile.mkdtemp(prefix="sluice-airflow-"))
PROJECT = Path(__file__).parents[3]

(HOME / "airflow.cfg").write_text(
    f"""[core]
load_examples = False
dags_folder = {PROJECT / "dags"}
plugins_folder = {PROJECT / "plugins"}
[database]
sql_alchemy_conn = sqlite:///{HOME / "airflow.db"}
[logging]
base_log_folder = {HOME / "logs"}
[workers]
min_heartbeat_interval = 1
""",
    encoding="utf-8",
)
os.environ["AIRFLOW_HOME"] = str(HOME)
atexit.register(shutil.rmtree, HOME, ignore_errors=True)


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
    shutil.copytree(PROJECT / "include", tmp_path / "include", ignore=shutil.ignore_patterns("sluice"))
    shutil.copytree(PROJECT / "spark_jobs", tmp_path / "spark_jobs")
    (tmp_path / "spark_jobs" / "stream.py").write_text(DRIVER, encoding="utf-8")
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    settings.cache_clear()
    opened = open_project()
    yield opened
    opened.life("flights").stop("the test", "it is over", 10)
    settings.cache_clear()
