"""The real stack: one boot for the tests that need it up, small boots that are meant to fail."""

from __future__ import annotations

import os
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from sluice.devstack.airflow.api import AirflowApi, succeeded
from sluice.devstack.kafka.admin import administrator, authority_file, encrypted_client
from sluice.devstack.stack import component_states, down, up
from sluice.devstack.supervision import ProgramState
from sluice.errors import NotReadyError, SluiceError, UnreachableError
from sluice.kafka.client.login import LoginRefusedError, refuse_login
from sluice.launch.endpoints import Endpoints, read_endpoints
from sluice.launch.launcher import LocalLauncher
from sluice.launch.master import read_capacity
from sluice.launch.master_address import cluster_settings
from sluice.launch.processes import STACK_MARK, marked
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.streams.life.launcher import DriverState
from tests.integration.launch.drivers import OBEDIENT, Drivers, alive
from tests.waiting import eventually

WORKERS = {"spark-worker-1", "spark-worker-2"}
COMPONENTS = {"broker", "spark-master", *WORKERS, "api-server", "scheduler", "dag-processor", "triggerer"}

DAG = """
from airflow.sdk import dag, task

@task
def speak():
    print("the worker speaks")

@dag(schedule=None)
def spoken():
    speak()

spoken()
"""


def make_place(folder: Path) -> Settings:
    """Return settings with the project's specs, without its DAGs, and with a state folder of their own."""
    home = folder / "home"
    for name in ("dags", "plugins"):
        (home / name).mkdir(parents=True)
    (home / "include").symlink_to(Settings().home / "include")
    (home / "spark_jobs").symlink_to(Settings().home / "spark_jobs")
    return Settings(home=home, state=folder / "state")


def processes(place: Settings) -> list[int]:
    return marked(STACK_MARK, str(place.state))


def components_of(place: Settings) -> set[int]:
    supervisor = psutil.Process(int((place.folder.supervisor / "supervisord.pid").read_text()))
    return {process.pid for process in supervisor.children()}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    place = make_place(tmp_path_factory.mktemp("stack"))
    yield place
    down(place)


@pytest.fixture(scope="module")
def endpoints(place: Settings) -> Endpoints:
    return up(place, spark_workers=2, secure=True)


def test_a_stack_that_is_up_is_healthy_and_says_where_it_is(place: Settings, endpoints: Endpoints) -> None:
    assert read_endpoints(place.folder) == endpoints
    assert AirflowApi(endpoints.airflow_url, place=place).unhealthy_components() == ()
    assert component_states(place) == dict.fromkeys(COMPONENTS, ProgramState.RUNNING)
    assert all(address.startswith("127.0.0.1:") for address in endpoints.kafka_bootstrap)


def test_drivers_and_batches_are_told_where_the_cluster_is(place: Settings, endpoints: Endpoints) -> None:
    project = Project.open_strict(place)
    spark, folder = project.processes.spark(), cluster_settings(place.folder)
    assert (spark.master, spark.pages, spark.settings) == (endpoints.spark_master, (endpoints.spark_page,), folder)
    with pytest.raises(UnreachableError):
        read_capacity(endpoints.spark_page)
    offer = read_capacity(endpoints.spark_page, tls=spark.tls)
    assert (offer.address, len(offer.workers)) == (endpoints.spark_master, len(WORKERS))
    (scheduler,) = (p for p in map(psutil.Process, components_of(place)) if "scheduler" in p.cmdline())
    assert endpoints.spark_master in scheduler.environ()["AIRFLOW_CONN_SPARK_DEFAULT"]


def test_kafka_lets_in_whoever_works_for_this_project_and_nobody_else(place: Settings, endpoints: Endpoints) -> None:
    assert endpoints.kafka_secured
    with Project.open_strict(place).kafka.administration() as administration:
        assert administration.brokers() == [1]
    with pytest.raises(LoginRefusedError, match="it is encrypted, and the client is not"):
        refuse_login(endpoints.kafka_bootstrap, {})
    with pytest.raises(LoginRefusedError, match="the client names no user"):
        refuse_login(endpoints.kafka_bootstrap, encrypted_client(place.folder.kafka))


def test_airflow_lets_nobody_in_without_its_password_and_encrypts(place: Settings, endpoints: Endpoints) -> None:
    assert endpoints.airflow_url.startswith("https://127.0.0.1:")
    authority = ssl.create_default_context(cafile=authority_file(place.folder.kafka))
    with httpx.Client(base_url=endpoints.airflow_url, verify=authority, trust_env=False) as stranger:
        assert stranger.get("/api/v2/dags").status_code == httpx.codes.UNAUTHORIZED
        assert stranger.get("/auth/token").status_code == httpx.codes.FORBIDDEN
        wrong = {"username": "admin", "password": "wrong"}
        assert stranger.post("/auth/token", json=wrong).status_code == httpx.codes.UNAUTHORIZED
    with pytest.raises(SluiceError, match="answered 404"):  # it is let in, and told that there is no such DAG
        AirflowApi(endpoints.airflow_url, place=place).runs("none")


def test_the_password_of_kafkas_administrator_is_in_its_files_alone(place: Settings, endpoints: Endpoints) -> None:
    assert endpoints
    password = administrator(place.folder.kafka).password
    files = (path for path in place.state.rglob("*") if path.is_file() and password.encode() in path.read_bytes())
    assert {str(path.relative_to(place.state)) for path in files} == {
        "kafka/admin.properties",
        "kafka/server.properties",
    }
    for process in map(psutil.Process, processes(place)):
        assert password not in " ".join([*process.cmdline(), *process.environ().values()])


def test_it_listens_on_this_machine_alone(place: Settings, endpoints: Endpoints) -> None:
    assert endpoints
    listening = {
        connection.laddr.ip
        for pid in processes(place)
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}


def test_every_process_of_it_carries_the_mark(place: Settings, endpoints: Endpoints) -> None:
    """Airflow's processes change their titles, which must not hide the mark."""
    assert endpoints
    descendants = (process for pid in components_of(place) for process in psutil.Process(pid).children(recursive=True))
    assert {*components_of(place), *(process.pid for process in descendants)} <= set(processes(place))


def test_a_second_up_adopts_what_runs(place: Settings, endpoints: Endpoints) -> None:
    before = components_of(place)
    assert up(place) == endpoints
    assert components_of(place) == before


def test_a_component_that_was_killed_is_there_again_after_up(place: Settings, endpoints: Endpoints) -> None:
    """Only the broker: it comes back in seconds."""
    (broker,) = (pid for pid in processes(place) if "kafka.Kafka" in psutil.Process(pid).cmdline())
    os.kill(broker, signal.SIGKILL)
    assert up(place) == endpoints
    assert component_states(place)["broker"] in {ProgramState.RUNNING, ProgramState.STARTING}
    assert broker not in processes(place)


@pytest.mark.verify
def test_a_worker_and_a_master_that_were_killed_are_there_again_by_themselves(
    place: Settings, endpoints: Endpoints
) -> None:
    def running(main: str) -> list[int]:
        return [pid for pid in processes(place) if any(part.endswith(main) for part in psutil.Process(pid).cmdline())]

    tls = Project.open_strict(place).processes.spark().tls

    def whole() -> bool:
        try:
            return len(read_capacity(endpoints.spark_page, tls=tls).workers) == len(WORKERS)
        except UnreachableError:
            return False

    for main in ("deploy.worker.Worker", "deploy.master.Master"):
        killed = running(main)[0]
        os.kill(killed, signal.SIGKILL)
        eventually(lambda killed=killed: not alive(killed))  # type: ignore[misc]
        eventually(whole, seconds=90)
        assert killed not in running(main)


@pytest.mark.verify
def test_a_new_dag_file_is_found_and_the_log_of_its_task_can_be_read(place: Settings, endpoints: Endpoints) -> None:
    (place.home / "dags" / "spoken.py").write_text(DAG)
    api = AirflowApi(endpoints.airflow_url, place=place)

    def known() -> bool:
        return bool(api._call("GET", "/dags?dag_id_pattern=spoken")["total_entries"])

    eventually(known, seconds=120)
    run = api.wait("spoken", api.trigger("spoken"), succeeded, 120)
    log = api._call("GET", f"/dags/spoken/dagRuns/{run.run_id}/taskInstances/speak/logs/1")
    assert "the worker speaks" in str(log["content"])


def test_down_stops_drivers_gracefully_and_leaves_no_process_even_without_its_supervisor(
    place: Settings, endpoints: Endpoints, tmp_path: Path
) -> None:
    assert endpoints
    launcher = LocalLauncher(place.folder.drivers)
    drivers = Drivers(tmp_path)
    launcher.submit("local.flights.g1", drivers.job(OBEDIENT))
    drivers.one_ready()
    os.kill(int((place.folder.supervisor / "supervisord.pid").read_text()), signal.SIGKILL)
    down(place)
    assert processes(place) == []
    driver = launcher.find("local.flights.g1")
    assert (driver.state, driver.exit_code) == (DriverState.ENDED, 0)
    with pytest.raises(NotReadyError, match="is not up"):
        read_endpoints(place.folder)


def test_down_with_nothing_to_end_is_fine(tmp_path: Path) -> None:
    down(make_place(tmp_path))


@pytest.mark.verify
def test_a_start_that_fails_says_why_and_leaves_no_process(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.folder.airflow.mkdir(parents=True)
    (place.folder.airflow / "airflow.db").write_text("no database, and long enough to be taken for one" * 100)
    with pytest.raises(
        NotReadyError, match=r"migration of Airflow's database failed(?s:.*)file is not a database"
    ) as caught:
        up(place)
    assert caught.value.fix.startswith("move airflow/airflow.db")
    assert processes(place) == []
    assert not place.folder.stack.exists()


def test_a_start_without_java_says_so_and_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = make_place(tmp_path)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotReadyError, match=r"needs Java.*Fix: install a JDK 17"):
        up(place)
    assert processes(place) == []
