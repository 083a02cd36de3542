"""Airflow's API in the containers: behind a login, and encrypted by the installation's own authority."""

from __future__ import annotations

import json
import ssl

import httpx

from sluice.devstack.airflow.api import AirflowApi
from tests.compose.containers import Containers


class LoggedIn(httpx.BaseTransport):
    """Asks for a token where there is none, or where the one that there is does not count any longer."""

    def __init__(self, url: str, user: str, password: str, verify: ssl.SSLContext) -> None:
        self._url, self._login = url, {"username": user, "password": password}
        self._inner = httpx.HTTPTransport(verify=verify)
        self._token = ""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with the token."""
        if self._token:
            response = self._send(request)
            if response.status_code != httpx.codes.UNAUTHORIZED:
                return response
            response.close()
        asked = self._inner.handle_request(httpx.Request("POST", f"{self._url}/auth/token", json=self._login))
        said = asked.read()
        if not asked.is_success:
            raise httpx.RequestError(f"the login was answered with {asked.status_code}", request=request)
        self._token = json.loads(said)["access_token"]
        return self._send(request)

    def _send(self, request: httpx.Request) -> httpx.Response:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return self._inner.handle_request(request)


def address(containers: Containers, port: str) -> tuple[str, ssl.SSLContext]:
    """Return where a published port answers, and what trusts its installation's own authority and no other."""
    ca = containers.secrets / "tls_ca"
    scheme = "https" if ca.exists() else "http"
    context = ssl.create_default_context(cafile=str(ca)) if ca.exists() else ssl.create_default_context()
    return f"{scheme}://localhost:{containers.ports[port]}", context


def airflow(containers: Containers) -> AirflowApi:
    """Return the API, as the administrator uses it from this machine."""
    url, context = address(containers, "AIRFLOW_PORT")
    password = json.loads((containers.secrets / "airflow_passwords").read_text(encoding="utf-8"))["admin"]
    return AirflowApi(url, transport=LoggedIn(url, "admin", password, context))
