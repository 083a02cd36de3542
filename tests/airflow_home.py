"""A private home for Airflow with SQLite, set before any test imports airflow: it reads its configuration once.

Only AIRFLOW_HOME goes into the environment; the rest is in its airflow.cfg, so that other tests' processes inherit
nothing else.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

HOME = Path(tempfile.mkdtemp(prefix="sluice-airflow-"))
_PROJECT = Path(__file__).parents[1]

(HOME / "airflow.cfg").write_text(
    f"""[core]
load_examples = False
dags_folder = {_PROJECT / "dags"}
plugins_folder = {_PROJECT / "plugins"}
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
