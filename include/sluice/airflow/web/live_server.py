"""`sluice serve` beside Airflow: its tokens at the door, its permissions for what is shown, its connections for alerts.

A token is what Airflow's API gives for a login (`POST /auth/token`), in the header Authorization, or the cookie with
which Airflow's own pages are used: a browser that is logged in there is logged in here, if both have one host name.
"""

from __future__ import annotations

import argparse
import logging
import socket
import sys

from airflow.api_fastapi.app import create_auth_manager, get_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import COOKIE_NAME_JWT_TOKEN
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
from fastapi import HTTPException, Request

from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.runtime import open_project
from sluice.airflow.web.console import AirflowVisitor
from sluice.console.context.access import Gate, Visitor, login_free_gate
from sluice.serve.server import ServerAddress, serve

log = logging.getLogger(__name__)


async def token_gate(request: Request) -> Visitor:
    """Admit whoever shows a token of Airflow's and may use its pages.

    Raises:
        HTTPException: 401 or 403.
    """
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    token = shown.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE_NAME_JWT_TOKEN, "")
    try:
        user = await get_auth_manager().get_user_from_token(token) if token else None
    except Exception:  # noqa: BLE001 - whatever is wrong with a token, it opens nothing
        user = None
    if user is None:
        words = "show a token of Airflow's, or log in there first"
        raise HTTPException(401, words, headers={"WWW-Authenticate": "Bearer"})
    if not get_auth_manager().is_authorized_view(access_view=AccessView.WEBSITE, user=user):
        raise HTTPException(403, "Forbidden")
    return AirflowVisitor(user)


def main(arguments: list[str]) -> None:
    """Serve until the process is told to end.

    Args:
        arguments: `--descriptor` of a socket that listens, `--url` under which it is reached, `--certificate` by which
            it encrypts, `--without-login`.
    """
    parser = argparse.ArgumentParser(prog="python -m sluice.airflow.web.live_server")
    parser.add_argument("--descriptor", type=int, required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--certificate", default="")
    parser.add_argument("--without-login", action="store_true")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    gate: Gate = login_free_gate
    if not options.without_login:
        create_auth_manager()
        gate = token_gate
    place = ServerAddress(socket.socket(fileno=options.descriptor), options.url, options.certificate)
    serve(place, open_project, gate, airflow_dispatcher)


if __name__ == "__main__":
    main(sys.argv[1:])
