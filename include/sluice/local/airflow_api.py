"""Airflow's REST API, as far as the command line needs it. The embedded Airflow asks for no login on loopback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError, UnreachableError

_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class DagRun:
    """A run of a DAG as Airflow shows it: its state, and that of each of its tasks."""

    dag_id: str
    run_id: str
    state: str
    tasks: Mapping[str, str]


class AirflowApi:
    """Triggers DAGs and waits for them."""

    def __init__(self, url: str, clock: Clock | None = None, transport: httpx.BaseTransport | None = None) -> None:
        self._url = url
        self._clock = clock or SystemClock()
        self._client = httpx.Client(base_url=f"{url}/api/v2", timeout=20, transport=transport, trust_env=False)

    def trigger(self, dag_id: str, conf: Mapping[str, object] | None = None) -> str:
        """Start a run and return its id."""
        answer = self._call("POST", f"/dags/{dag_id}/dagRuns", {"logical_date": None, "conf": dict(conf or {})})
        return str(answer["dag_run_id"])

    def runs(self, dag_id: str) -> list[str]:
        """Return the ids of a DAG's runs (the newest 100), oldest first."""
        found = self._call("GET", f"/dags/{dag_id}/dagRuns?order_by=-run_after&limit=100")["dag_runs"]
        return [str(run["dag_run_id"]) for run in reversed(found)]

    def run(self, dag_id: str, run_id: str) -> DagRun:
        """Look at a run."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}"
        state = str(self._call("GET", path)["state"])
        tasks = self._call("GET", f"{path}/taskInstances")["task_instances"]
        return DagRun(dag_id, run_id, state, {task["task_id"]: str(task["state"]) for task in tasks})

    def wait(self, dag_id: str, run_id: str, done: Callable[[DagRun], bool], deadline_seconds: float) -> DagRun:
        """Wait until `done`.

        Raises:
            SluiceError: the run failed, or the deadline passed.
        """
        deadline = self._clock.monotonic() + deadline_seconds
        while True:
            run = self.run(dag_id, run_id)
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
        """Create a pool; one that exists keeps the size that somebody gave it."""
        body = {"name": name, "slots": slots, "description": description, "include_deferred": False}
        if not any(pool["name"] == name for pool in self._call("GET", f"/pools?pool_name_pattern={name}")["pools"]):
            self._call("POST", "/pools", body)

    def _call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        try:
            response = self._client.request(method, path, json=body)
            response.raise_for_status()
        except httpx.HTTPStatusError as error:
            text = error.response.text[:300]
            raise SluiceError(
                f"Airflow at {self._url} answered {error.response.status_code} to {path}: {text}"
            ) from error
        except httpx.HTTPError as error:
            raise UnreachableError(
                f"Airflow at {self._url} does not answer: {error}.", fix="run `sluice up`."
            ) from error
        answer: dict[str, Any] = response.json()
        return answer


def succeeded(run: DagRun) -> bool:
    """Whether the whole run is done well."""
    return run.state == "success"


def watching(run: DagRun) -> bool:
    """Whether a stream's run has come to its watch: the driver is submitted, or was adopted."""
    return run.tasks.get("watch") in {"deferred", "success"} or succeeded(run)
