"""The configuration of the Airflow that commands can reach."""

from __future__ import annotations

from sluice.devstack.airflow.configuration import stack_environment
from sluice.settings import Settings, environment


def airflow_variables(config: Settings) -> dict[str, str]:
    """Return the variables of a process that reads Airflow's own database; empty if there is no Airflow.

    It is the embedded stack's, running or not, or the one that this process's variables name. Without AIRFLOW_HOME
    Airflow would create a home for the user.
    """
    embedded = (config.folder.airflow / "airflow.cfg").is_file()
    variables = stack_environment(config) if embedded else environment()
    return {**variables, "_AIRFLOW_PROCESS_CONTEXT": "server"} if variables.get("AIRFLOW_HOME") else {}
