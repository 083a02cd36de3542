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
    pages,
)


class SluicePlugin(AirflowPlugin):
    """Links on watches and batches, and the pages that they open."""

    name = "sluice"
    operator_extra_links: ClassVar[list[Any]] = [
        SparkUiLink(),
        DriverLogLink(),
        ParityLink(),
        QualityLink(),
        TableQualityLink(),
    ]
    fastapi_apps: ClassVar[list[Any]] = [{"app": pages, "url_prefix": PREFIX, "name": "Sluice: drivers and reports"}]
