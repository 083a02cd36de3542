"""An Airflow of our own: a private home with SQLite, set before anything imports airflow.

Only AIRFLOW_HOME goes into the environment; the rest is in its airflow.cfg, so that other tests' processes inherit
nothing else.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

HOME = Path(tempfile.mkdtemp(prefix="sluice-airflow-"))
PROJECT = Path(__file__).parents[3]

(HOME / "airflow.cfg").write_text(
    f"""[core]
load_examples = False
dags_folder = {PROJECT / "dags"}
plugins_folder = {HOME / "plugins"}
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


@pytest.fixture(scope="session")
def airflow_database() -> Path:
    """A migrated metadata database."""
    from airflow.utils.db import initdb  # noqa: PLC0415 - after AIRFLOW_HOME is set

    initdb()
    return HOME / "airflow.db"
