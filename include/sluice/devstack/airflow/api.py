"""Airflow's REST API, as far as the command line needs it.

The embedded Airflow asks for no login on loopback; one that is secured asks for its user's password, over TLS.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from sluice.clock import Clock, SystemClock
from sluice.devstack.airflow.configuration import USER, password_file
from sluice.devstack.kafka.admin import authority_file
from sluice.errors import NotReadyError, SluiceError, UnreachableError
from sluice.settings import Settings

_POLL_SECONDS = 0.5
_PARSE_SECONDS = 90.0
"""Two checks of the DAG processor of its folder, and the parsing of all its files on a busy machine."""
_ANSWER_SECONDS = 60
"""A new server does not answer while it loads what the first task needs: 23 s were seen on a busy machine."""
_DATABASE_SECONDS = 30.0
"""On SQLite the server is in its own way for 5 s when a request that changes something meets the start of a task."""


_COMPONENTS = {
    "metadatabase": "api-server",
    "scheduler": "scheduler",
    "dag_processor": "dag-processor",
    "triggerer": "triggerer",
}
"""Names in Airflow's own health report → our components."""


@dataclass(frozen=True)
class DagRun:
    """A run of a DAG as Airflow shows it: its state, and that of each of its tasks."""

    dag_id: str
    run_id: str
    state: str
    tasks: Mapping[str, str]


class PasswordLogin(httpx.Auth):
    """Gets a token for the user's password when the server wants one, and again when that has ended."""

    requires_response_body = True

    def __init__(self, url: str, password: str) -> None:
        self._question = f"{url}/auth/token"
        self._password = password
        self._token = ""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """See `httpx.Auth`."""
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        if (yield request).status_code == httpx.codes.UNAUTHORIZED:
            body = {"username": USER, "password": self._password}
            answer = yield httpx.Request("POST", self._question, json=body)
            if answer.is_success:
                self._token = str(answer.json()["access_token"])
                request.headers["Authorization"] = f"Bearer {self._token}"
                yield request


class AirflowApi:
    """Triggers DAGs and waits for them.

    Args:
        url: of the server.
        clock: gives the time.
        transport: omitted: HTTP.
        place: whose stack it is, where a login and the authority of the certificate are found if the URL is encrypted.
    """

    def __init__(
        self,
        url: str,
        clock: Clock | None = None,
        transport: httpx.BaseTransport | None = None,
        place: Settings | None = None,
    ) -> None:
        self._url = url
        self._clock = clock or SystemClock()
        door = {} if place is None or not url.startswith("https:") else _door(url, place)
        base = f"{url}/api/v2"
        self._client = httpx.Client(
            base_url=base, timeout=_ANSWER_SECONDS, transport=transport, trust_env=False, **door
        )

    def trigger(self, dag_id: str, conf: Mapping[str, object] | None = None) -> str:
        """Start a run and return its id. A DAG whose file Airflow has yet to parse is waited for.

        Raises:
            SluiceError: Airflow does not know the DAG, or refused the run.
        """
        self._wait_until_known(dag_id)
        answer = self._call("POST", f"/dags/{dag_id}/dagRuns", {"logical_date": None, "conf": dict(conf or {})})
        return str(answer["dag_run_id"])

    def runs(self, dag_id: str) -> list[str]:
        """Return the ids of a DAG's runs (the newest 100), oldest first."""
        listed = self._call("GET", f"/dags/{dag_id}/dagRuns?order_by=-run_after&limit=100")["dag_runs"]
        return [str(run["dag_run_id"]) for run in reversed(listed)]

    def run(self, dag_id: str, run_id: str) -> DagRun:
        """Check a run."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}"
        state = str(self._call("GET", path)["state"])
        tasks = self._call("GET", f"{path}/taskInstances")["task_instances"]
        return DagRun(dag_id, run_id, state, {task["task_id"]: str(task["state"]) for task in tasks})

    def wait(self, dag_id: str, run_id: str, done: Callable[[DagRun], bool], deadline_seconds: float) -> DagRun:
        """Wait until `done`. A server that is too busy to answer is asked again.

        Raises:
            SluiceError: the run failed, or the deadline passed.
        """
        deadline = self._clock.monotonic() + deadline_seconds
        while True:
            try:
                run = self.run(dag_id, run_id)
            except UnreachableError:
                if self._clock.monotonic() > deadline:
                    raise
                self._clock.sleep(_POLL_SECONDS)
                continue
            if done(run):
                return run
            if run.state == "failed" or self._clock.monotonic() > deadline:
                raise SluiceError(
                    f"the run {run_id} of DAG {dag_id} is {run.state} (deadline {deadline_seconds:.0f} s); "
                    f"its tasks: {dict(run.tasks)}.",
                    fix=f"see its log at {self._url}/dags/{dag_id}/runs/{run_id}.",
                )
            self._clock.sleep(_POLL_SECONDS)

    def ensure_pool(self, name: str, slots: int, description: str) -> None:
        """Create a pool; one that exists keeps its size."""
        body = {"name": name, "slots": slots, "description": description, "include_deferred": False}
        if not any(pool["name"] == name for pool in self._call("GET", f"/pools?pool_name_pattern={name}")["pools"]):
            self._call("POST", "/pools", body)

    def unhealthy_components(self) -> tuple[str, ...]:
        """Return the components that do not say that they are healthy; all wait for the API server."""
        answer = self._quick_answer("/monitor/health")
        if answer is None:
            return ("api-server",)
        return tuple(ours for name, ours in _COMPONENTS.items() if (answer.get(name) or {}).get("status") != "healthy")

    def has_parsed(self) -> bool:
        """Whether any DAG file was read: its DAG, or its error, is there."""
        answers = [self._quick_answer(f"/{what}?limit=1") for what in ("dags", "importErrors")]
        return any(answer and answer.get("total_entries") for answer in answers)

    def _quick_answer(self, path: str) -> dict[str, Any] | None:
        """Return an answer, or None if there is none now."""
        try:
            answer: dict[str, Any] = self._client.get(path, timeout=10).raise_for_status().json()
        except (httpx.HTTPError, ValueError):
            return None
        return answer

    def _wait_until_known(self, dag_id: str) -> None:
        deadline = self._clock.monotonic() + _PARSE_SECONDS
        while (response := self._send("GET", f"/dags/{dag_id}")).status_code == httpx.codes.NOT_FOUND:
            if self._clock.monotonic() > deadline:
                raise SluiceError(
                    f"Airflow at {self._url} has no DAG {dag_id} after {_PARSE_SECONDS:.0f} s: its file is not in "
                    "dags/, could not be parsed, or its spec is refused.",
                    fix=f"run `sluice check`, and see the import errors at {self._url}/dags.",
                )
            self._clock.sleep(_POLL_SECONDS)
        self._refuse_error(response)

    def _call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        deadline = self._clock.monotonic() + _DATABASE_SECONDS
        while _rolled_back(response := self._send(method, path, body)) and self._clock.monotonic() < deadline:
            self._clock.sleep(_POLL_SECONDS)
        self._refuse_error(response)
        answer: dict[str, Any] = response.json()
        return answer

    def _refuse_error(self, response: httpx.Response) -> None:
        if response.is_error:
            raise SluiceError(
                f"Airflow at {self._url} answered {response.status_code} to {response.url.path}: {response.text[:300]}"
            )

    def _send(self, method: str, path: str, body: Mapping[str, object] | None = None) -> httpx.Response:
        try:
            return self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise UnreachableError(
                f"Airflow at {self._url} does not answer: {error}.", fix="run `sluice up`."
            ) from error


def _door(url: str, place: Settings) -> dict[str, Any]:
    """Return what a client needs where a login is required.

    Raises:
        NotReadyError: a file of the stack is not there.
    """
    authority, passwords = authority_file(place.folder.kafka), password_file(place)
    try:
        password = str(json.loads(passwords.read_bytes())[USER])
        return {"verify": ssl.create_default_context(cafile=authority), "auth": PasswordLogin(url, password)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotReadyError(
            f"Airflow at {url} requires a login, and {passwords} or {authority} cannot be used ({error!r}).",
            fix="run `sluice down`, remove the first file, then run `sluice up`: it draws a new password.",
        ) from error


def _rolled_back(response: httpx.Response) -> bool:
    """Whether the server could not write to its database: then nothing was done, and it may be asked again."""
    return response.status_code == httpx.codes.INTERNAL_SERVER_ERROR and "Database error" in response.text


def succeeded(run: DagRun) -> bool:
    """Whether the whole run is done well."""
    return run.state == "success"


def watching(run: DagRun) -> bool:
    """Whether a stream's run has come to its watch: the driver is submitted, or was adopted."""
    return run.tasks.get("watch") in {"deferred", "success"} or succeeded(run)
