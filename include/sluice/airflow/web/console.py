"""The console inside Airflow's web server: its login, its permissions, and its runs for whatever is asked."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from airflow.api.common.trigger_dag import trigger_dag
from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models.dag import DagModel
from airflow.sdk.exceptions import AirflowException
from airflow.utils.types import DagRunTriggeredByType
from fastapi import HTTPException, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from sluice.airflow.runtime import open_project
from sluice.console.app import create_console
from sluice.console.context.access import Visitor
from sluice.errors import RefusedError
from sluice.project.reloading import ReloadingProject

log = logging.getLogger(__name__)


class AirflowVisitor:
    """A user of Airflow's."""

    login_free = False

    def __init__(self, user: BaseUser) -> None:
        self._user = user
        self.name = user.get_name()

    def readable(self, dag_ids: Collection[str]) -> Collection[str]:
        """Return those of some DAGs that Airflow shows to this user. One that does not exist yet is shown to none."""
        manager = get_auth_manager()
        if len(dag_ids) == 1:  # one question, instead of the list of all
            (dag_id,) = dag_ids
            allowed = manager.is_authorized_dag(
                method="GET", details=DagDetails(id=dag_id, team_name=_team(dag_id)), user=self._user
            )
            return dag_ids if allowed else ()
        mine = manager.get_authorized_dag_ids(user=self._user, method="GET")
        return [dag_id for dag_id in dag_ids if dag_id in mine]

    def may_run(self, dag_id: str) -> bool:
        """Whether the user may trigger the DAG."""
        return get_auth_manager().is_authorized_dag(
            method="POST",
            access_entity=DagAccessEntity.RUN,
            details=DagDetails(id=dag_id, team_name=_team(dag_id)),
            user=self._user,
        )


class DagRuns:
    """Implements `sluice.console.context.page_context.DagRunner` by runs of DAGs."""

    def run(self, dag_id: str, form: Mapping[str, Any], *, by: str) -> str:
        """Start a run with a filled form, and return its id.

        Raises:
            RefusedError: there is no such DAG, or it does not take this form.
        """
        try:
            started = trigger_dag(
                dag_id, triggered_by=DagRunTriggeredByType.UI, triggering_user_name=by, conf=dict(form)
            )
        except (AirflowException, ValueError) as error:
            raise RefusedError(f"Airflow started no run of {dag_id}: {error}", fix="see the DAG's page.") from error
        if started is None:
            raise RefusedError(f"Airflow started no run of {dag_id}.", fix="see the DAG's page.")
        log.info("%s triggered the DAG %s with %s", by, dag_id, dict(form))
        return str(started.run_id)


async def airflow_gate(user: GetUserDep) -> Visitor:
    """Admit users who have logged in and may use Airflow's pages.

    Raises:
        HTTPException: 401 or 403.
    """
    if not get_auth_manager().is_authorized_view(access_view=AccessView.WEBSITE, user=user):
        raise HTTPException(403, "Forbidden")
    return AirflowVisitor(user)


async def send_to_login(request: Request, error: Exception) -> Response:
    """Show the login page to a browser, and the bare truth to a program."""
    if "text/html" in request.headers.get("accept", "") and request.method == "GET":
        return RedirectResponse(get_auth_manager().get_url_login(next_url=str(request.url)), 303)
    detail = error.detail if isinstance(error, HTTPException) else str(error)
    return JSONResponse({"detail": detail}, 401, headers={"WWW-Authenticate": "Bearer"})


def _team(dag_id: str) -> str | None:
    return DagModel.get_team_name(dag_id)


app = create_console(ReloadingProject(open_project), airflow_gate, runner=DagRuns())
app.add_exception_handler(401, send_to_login)
