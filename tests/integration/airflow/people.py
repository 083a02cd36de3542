"""A person at Airflow's pages: waits for what is asked there, and answers by the requests that the pages send."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from typing import Any
from unittest.mock import patch

from airflow.api_fastapi.app import create_app, get_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from fastapi.testclient import TestClient

from tests.waiting import eventually

_PATIENCE_SECONDS = 180
"""A DAG's first tasks take a minute on a machine that does much else."""

Page = dict[str, Any]
"""What Airflow shows: `subject`, `body`, `params`, and the `task_instance` that asks."""


class Person:
    """Somebody who is logged in.

    Args:
        name: who it is.
        role: what he or she may do, as Airflow's simple auth manager has it.
    """

    def __init__(self, name: str, role: str = "op") -> None:
        token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=name, role=role))
        self._client = TestClient(create_app(), headers={"Authorization": f"Bearer {token}"})

    def page(self, dag_id: str) -> Page:
        """Wait until a task of a DAG asks something that nobody has answered, and return it."""
        found: list[Page] = []

        def asked() -> bool:
            answer = self.send("GET", f"/dags/{dag_id}/dagRuns/~/hitlDetails?response_received=false")
            found[:] = [page for page in answer["hitl_details"] if page["task_instance"]["state"] == "awaiting_input"]
            return bool(found)

        eventually(asked, "nothing was asked", seconds=_PATIENCE_SECONDS)
        return found[0]

    def answer(self, page: Page, option: str, fields: Mapping[str, Any]) -> int:
        """Press a button and return the status of the response."""
        ti = page["task_instance"]
        path = f"/dags/{ti['dag_id']}/dagRuns/{ti['dag_run_id']}/taskInstances/{ti['task_id']}/-1/hitlDetails"
        body = {"chosen_options": [option], "params_input": dict(fields)}
        return int(self._request("PATCH", path, body).status_code)

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request, which has to succeed, and return the answer."""
        response = self._request(method, path, body)
        assert response.is_success, response.text
        found: dict[str, Any] = response.json()
        return found

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:  # noqa: ANN401 - httpx is not typed here
        return self._client.request(method, f"/api/v2{path}", json=None if body is None else dict(body))


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Act beside the block, which waits for it; what goes wrong there fails here, and ends the block.

    A run of a DAG waits for an answer for ever, and Airflow's own alarms have switched pytest's timeout off. So the
    fault is raised where the run sleeps: in the middle of a commit it would leave a broken session to the next test.
    """
    faults: list[BaseException] = []

    def work() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            faults.append(error)

    sleep = time.sleep

    def sleep_unless_it_is_in_vain(seconds: float) -> None:
        if faults and current_thread() is main_thread():
            raise faults[0]
        sleep(seconds)

    thread = Thread(target=work, daemon=True)
    thread.start()
    with patch.object(time, "sleep", sleep_unless_it_is_in_vain):
        yield
        thread.join(_PATIENCE_SECONDS)
    if faults:
        raise faults[0]
    assert not thread.is_alive(), "the person goes on"


def as_it_is(page: Page) -> dict[str, Any]:
    """Return the fields of a page as they stand there before anybody types."""
    return {name: field["value"] for name, field in page["params"].items()}
