"""What the command line asks of Airflow's REST API."""

from __future__ import annotations

import json

import httpx
import pytest

from sluice.devstack.airflow.api import AirflowApi
from sluice.errors import SluiceError
from tests.twins.clock import ManualClock


class Pools:
    """A web server that has pools."""

    def __init__(self, **pools: int) -> None:
        self.pools = pools

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/api/v2/pools"
        if request.method == "POST":
            asked = json.loads(request.content)
            self.pools[asked["name"]] = asked["slots"]
            return httpx.Response(201, json=asked)
        pattern = request.url.params["pool_name_pattern"]
        return httpx.Response(200, json={"pools": [{"name": name} for name in self.pools if pattern in name]})


def ensure(pools: Pools) -> None:
    AirflowApi("http://airflow", transport=httpx.MockTransport(pools)).ensure_pool("spark_batch", 1, "Spark")


def test_a_pool_that_is_missing_is_created_also_beside_one_of_a_similar_name() -> None:
    pools = Pools(default_pool=128, spark_batch_large=4)
    ensure(pools)

    assert pools.pools == {"default_pool": 128, "spark_batch_large": 4, "spark_batch": 1}


def test_an_answer_is_waited_for_as_long_as_a_new_server_takes_to_load_what_the_first_task_needs() -> None:
    waits = []

    def answer(request: httpx.Request) -> httpx.Response:
        waits.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, json={"dag_runs": []})

    assert AirflowApi("http://airflow", transport=httpx.MockTransport(answer)).runs("topics") == []
    assert waits == [60]


def test_a_pool_keeps_the_size_that_somebody_gave_it() -> None:
    pools = Pools(spark_batch=3)
    ensure(pools)

    assert pools.pools == {"spark_batch": 3}


class Parsing:
    """A web server that knows a DAG only after it was looked for so many times."""

    def __init__(self, polls_until_known: int) -> None:
        self.polls, self.runs = polls_until_known, 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.polls > 0:
            self.polls -= 1
            return httpx.Response(404, json={"detail": "Dag with dag_id: 'topics' not found"})
        if request.method == "POST":
            self.runs += 1
            return httpx.Response(200, json={"dag_run_id": "manual__1"})
        return httpx.Response(200, json={"dag_id": "topics"})


def trigger(server: Parsing) -> str:
    return AirflowApi("http://airflow", ManualClock(), httpx.MockTransport(server)).trigger("topics")


def test_a_dag_that_is_yet_to_be_parsed_is_waited_for() -> None:
    server = Parsing(polls_until_known=5)

    assert trigger(server) == "manual__1"
    assert server.runs == 1


def test_a_dag_that_never_comes_is_refused_with_what_to_check() -> None:
    with pytest.raises(SluiceError, match="has no DAG topics after 90 s") as refused:
        trigger(Parsing(polls_until_known=10_000))

    assert "sluice check" in refused.value.fix


class Locked:
    """A web server whose database is locked for so many requests that change something; each takes it five seconds."""

    def __init__(self, clock: ManualClock, refusals: int) -> None:
        self.clock, self.refusals, self.runs = clock, refusals, 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST" and self.refusals > 0:
            self.refusals -= 1
            self.clock.sleep(5)
            return httpx.Response(500, json={"detail": {"reason": "Database error", "orig_error": "hidden"}})
        self.runs += request.method == "POST"
        return httpx.Response(200, json={"dag_run_id": "manual__1"})

    def trigger(self) -> str:
        return AirflowApi("http://airflow", self.clock, httpx.MockTransport(self)).trigger("topics")


def test_a_server_whose_database_is_locked_for_a_moment_is_asked_again() -> None:
    server = Locked(ManualClock(), refusals=2)

    assert server.trigger() == "manual__1"
    assert server.runs == 1


def test_a_server_whose_database_stays_locked_is_given_up() -> None:
    server = Locked(ManualClock(), refusals=10_000)

    with pytest.raises(SluiceError, match="answered 500 to /api/v2/dags/topics/dagRuns"):
        server.trigger()
    assert 30 <= server.clock.monotonic() < 40
