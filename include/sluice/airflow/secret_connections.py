"""Airflow's connections from files and commands: a secrets backend, named in Airflow's setting `secrets.backend`."""

from __future__ import annotations

import logging

from airflow.secrets.base_secrets import BaseSecretsBackend

from sluice.errors import NotConfiguredError
from sluice.secrecy.secret_values import read_secret
from sluice.settings import environment

log = logging.getLogger(__name__)


class SecretConnections(BaseSecretsBackend):
    """Finds a connection in `AIRFLOW_CONN_<ID>_FILE` or `AIRFLOW_CONN_<ID>_COMMAND`, by the rules of all our secrets.

    Airflow takes an error here for "not found" and goes on, so the error is logged; no secret is in it.
    """

    def get_conn_value(self, conn_id: str, team_name: str | None = None) -> str | None:
        """Return a connection as JSON or as a URL; None if it is given in no form.

        Raises:
            NotConfiguredError: it is given in two forms, or its file or command yields none.
        """
        _ = team_name
        try:
            return read_secret(f"AIRFLOW_CONN_{conn_id.upper()}", environment())
        except NotConfiguredError as error:
            log.error("The connection %s cannot be read: %s", conn_id, error)  # noqa: TRY400 - its message suffices
            raise

    def get_variable(self, key: str, team_name: str | None = None) -> None:
        """Return None: variables of Airflow's hold no secret of ours."""
        _ = key, team_name
