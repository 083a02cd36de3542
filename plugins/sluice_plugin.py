"""Registers Sluice with Airflow.

The code lives in the package: Airflow executes every file here under its bare name, so a module would exist twice.
"""

from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from sluice.airflow.links import (
    PREFIX,
    DriverLogLink,
    ParityLink,
    QualityLink,
    SparkUiLink,
    TableQualityLink,
)
from sluice.airflow.web.mount import pages

BELOW = PREFIX.lstrip("/")
"""Without a slash: Airflow may itself be served below a path."""


class SluicePlugin(AirflowPlugin):
    """Links on watches and batches, the console that they lead to, and where Airflow's pages show it."""

    name = "sluice"
    operator_extra_links: ClassVar[list[Any]] = [
        SparkUiLink(),
        DriverLogLink(),
        ParityLink(),
        QualityLink(),
        TableQualityLink(),
    ]
    fastapi_apps: ClassVar[list[Any]] = [{"app": pages, "url_prefix": PREFIX, "name": "Sluice: the console"}]
    external_views: ClassVar[list[Any]] = [
        {"name": "Sluice", "href": f"{BELOW}/", "destination": "nav", "url_route": "sluice"},
        {"name": "Sluice", "href": BELOW + "/dags/{DAG_ID}", "destination": "dag_run", "url_route": "sluice-run"},
    ]
