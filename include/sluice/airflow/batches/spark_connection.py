"""What the Airflow connection `spark_default` says about where Spark's cores are: it goes before the deployment.

Only a standalone master counts (`spark://…`). What else a connection may name, such as the `local[2]` of a machine
without a cluster or the `yarn` that Airflow brings along, is a matter of `spark-submit` and not of drivers.
"""

from __future__ import annotations

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from sluice.errors import NotConfiguredError
from sluice.project.project import Project
from sluice.specs.deployments.masters import STANDALONE, master_fault

CONNECTION = "spark_default"
"""Says where Spark's cores are; `sluice up` and the containers set it from the deployment."""


def at_connection(project: Project) -> Project:
    """Return the project with the connection's master, unless the settings name one or the connection names none.

    It is for tasks: elsewhere a connection cannot be read.
    """
    master = connection_master()
    if not master or project.settings.spark_master:
        return project
    return Project(project.settings.model_copy(update={"spark_master": master}), project.catalog)


def connection_master() -> str:
    """Return the standalone master that the connection names; empty if it names none, or if there is no connection.

    Raises:
        NotConfiguredError: it names one that cannot be found by what it says.
    """
    try:
        connection = BaseHook.get_connection(CONNECTION)
    except AirflowNotFoundException:
        return ""
    host = connection.host or ""
    if not host.startswith(STANDALONE):
        return ""
    master = f"{host}:{connection.port}" if connection.port else host
    if fault := master_fault(master):
        raise NotConfiguredError(f"the Airflow connection {CONNECTION} cannot be used: {fault}.")
    return master
