"""What the command line asks of Airflow's REST API."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from sluice.devstack.airflow.api import AirflowApi, succeeded
from sluice.devstack.airflow.configuration import password_file
from sluice.devstack.kafka.authority import ensure_certificates
from sluice.errors import NotReadyError, SluiceError, UnreachableError
from sluice.settings import Settings
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


class LoginServer:
    """A web server whose tokens are in force for some questions each."""

    def __init__(self, lasting: int) -> None:
        self.lasting, self.given, self.left = lasting, 0, 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/auth/token":
            if json.loads(request.content) != {"username": "admin", "password": "of admin"}:
                return httpx.Response(401)
            self.given, self.left = self.given + 1, self.lasting
            return httpx.Response(201, json={"access_token": f"token-{self.given}"})
        shown = request.headers.get("Authorization")
        assert shown != "Bearer ", "no server is asked so: httpx does not send it"
        if shown != f"Bearer token-{self.given}" or not self.left:
            return httpx.Response(401, json={"detail": "who are you?"})
        self.left -= 1
        return httpx.Response(200, json={"dag_runs": []})


@pytest.fixture
def secured(tmp_path: Path) -> Settings:
    place = Settings(home=tmp_path, state=tmp_path / "state")
    ensure_certificates(place.folder.kafka, datetime.now(UTC))
    place.folder.airflow.mkdir()
    password_file(place).write_text(json.dumps({"admin": "of admin"}))
    return place


def test_a_secured_server_gives_a_token_for_the_password_and_another_when_that_has_ended(secured: Settings) -> None:
    server = LoginServer(lasting=2)
    api = AirflowApi("https://airflow", transport=httpx.MockTransport(server), place=secured)
    assert [api.runs("topics") for _ in range(5)] == [[]] * 5
    assert server.given == 3


def test_a_wrong_password_is_refused_and_not_repeated_for_ever_or_shown(secured: Settings) -> None:
    password_file(secured).write_text(json.dumps({"admin": "another"}))
    api = AirflowApi("https://airflow", transport=httpx.MockTransport(LoginServer(lasting=2)), place=secured)
    with pytest.raises(SluiceError, match="answered 401") as refused:
        api.runs("topics")
    assert "another" not in str(refused.value)


@pytest.mark.parametrize("content", [None, "{", "[]", "{}"])
def test_a_password_that_is_not_there_is_said_with_what_to_do(secured: Settings, content: str | None) -> None:
    file = password_file(secured)
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(NotReadyError, match=r"requires a login, and .*passwords\.json .*it draws a new password"):
        AirflowApi("https://airflow", place=secured)


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


class BusyServer:
    """A web server that does not answer in time for a while, and then shows a run that has ended."""

    def __init__(self, silent: int) -> None:
        self.silent = silent

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.silent:
            self.silent -= 1
            raise httpx.ReadTimeout("timed out")
        tasks = request.url.path.endswith("/taskInstances")
        return httpx.Response(200, json={"task_instances": []} if tasks else {"state": "success"})


def test_a_run_is_waited_for_through_the_silence_of_a_busy_server() -> None:
    api = AirflowApi("http://airflow", ManualClock(), transport=httpx.MockTransport(BusyServer(silent=3)))
    assert api.wait("topics", "manual", succeeded, 60).state == "success"


def test_a_server_that_stays_silent_is_given_up_at_the_deadline() -> None:
    api = AirflowApi("http://airflow", ManualClock(), transport=httpx.MockTransport(BusyServer(silent=1_000)))
    with pytest.raises(UnreachableError, match="does not answer"):
        api.wait("topics", "manual", succeeded, 60)
