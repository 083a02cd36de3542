"""The pages about a driver, served by Airflow's own web application with the plugin that ships."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from airflow.api_fastapi.app import create_app, get_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
from airflow.models.dagrun import DagRun
from airflow.sdk import BaseOperator, DagRunState
from airflow.sdk.types import TaskInstanceKey
from airflow.utils.session import create_session
from airflow.utils.types import DagRunTriggeredByType
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from sluice.airflow.links import DriverLogLink, SparkUiLink
from sluice.airflow.streams.watch import WatchOperator
from sluice.console.context.log_tail import last_lines
from sluice.project.project import Project
from sluice.streams.life.attempts import Desired

KEY = "local.flights.g1"
BUNDLE = "dags-folder"
STREAMS = Path(__file__).parents[3] / "dags" / "streams.py"
BACKFILL = "departures-20261121T120000-a1b2"


@pytest.fixture(scope="module")
def visitor(airflow_database: Path) -> TestClient:
    """Somebody who has not logged in."""
    assert airflow_database.is_file()
    return TestClient(create_app(), follow_redirects=False)


@pytest.fixture
def viewer(visitor: TestClient) -> TestClient:
    """Somebody who may look."""
    token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="ada", role="viewer"))
    return TestClient(visitor.app, follow_redirects=False, headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def member(visitor: TestClient) -> TestClient:
    """Somebody who may run DAGs."""
    token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="grace", role="user"))
    return TestClient(visitor.app, follow_redirects=False, headers={"Authorization": f"Bearer {token}"})


STOP = {"action": "stop", "reason": "new brokers"}


def console_routes() -> list[APIRoute]:
    from sluice.airflow.web.console import app  # noqa: PLC0415 - after AIRFLOW_HOME is set

    return [route for route in app.routes if isinstance(route, APIRoute)]


def test_no_route_is_open_in_airflow(visitor: TestClient, project: Project) -> None:
    assert project.catalog.units()
    for route in console_routes():
        path = re.sub(r"\{\w+\}", "departures", route.path)
        for method in route.methods:
            answer = visitor.request(method, f"/sluice{path}", headers={"origin": "http://testserver"})
            assert answer.status_code == 401, (method, path)
            cookie = {"cookie": "_token=forged", "origin": "http://testserver"}
            assert visitor.request(method, f"/sluice{path}", headers=cookie).status_code in {401, 403}, (method, path)


def test_who_may_only_read_asks_for_nothing(viewer: TestClient, attempted: Project) -> None:
    answer = viewer.post("/sluice/units/flights/request", data=STOP)
    assert (answer.status_code, answer.text) == (403, "You may not start runs of stream_flights.")
    wish = attempted.records.registry().desired("flights")
    assert wish is not None
    assert wish.state is Desired.RUNNING


def test_a_dag_that_is_not_there_starts_no_run(member: TestClient, attempted: Project) -> None:
    assert attempted.records.registry().latest_attempt("flights") is not None
    answer = member.post("/sluice/units/nobody/request", data=STOP)
    assert answer.status_code == 503
    assert answer.text.startswith("Airflow started no run of stream_nobody: ")


@pytest.fixture
def known_to_airflow(airflow_database: Path, attempted: Project) -> Iterator[Project]:
    """The project, once Airflow has parsed the DAGs of its streams. No run of them is left to be waited for."""
    assert airflow_database.is_file()
    DagBundlesManager().sync_bundles_to_db()
    folder = attempted.settings.home / "dags"
    folder.mkdir()
    shutil.copy(STREAMS, folder)
    sync_bag_to_db(BundleDagBag(folder, bundle_path=folder, bundle_name=BUNDLE), BUNDLE, None)
    before = {run.run_id for run in DagRun.find(dag_id="stream_flights")}
    yield attempted
    with create_session() as session:
        for run in DagRun.find(dag_id="stream_flights", session=session):
            if run.run_id not in before:
                session.delete(run)


def test_a_run_is_started_in_the_name_of_who_asks(member: TestClient, known_to_airflow: Project) -> None:
    assert known_to_airflow.catalog.units()
    before = {run.run_id for run in DagRun.find(dag_id="stream_flights")}
    answer = member.post("/sluice/units/flights/request", data=STOP)
    (started,) = (run for run in DagRun.find(dag_id="stream_flights") if run.run_id not in before)
    page = f"/sluice/requested/stream_flights/{quote(started.run_id, safe='')}"
    assert (answer.status_code, answer.headers["location"]) == (303, page)
    assert (started.triggering_user_name, started.triggered_by) == ("grace", DagRunTriggeredByType.UI)
    assert (started.conf, started.state) == (STOP, DagRunState.QUEUED)


def test_a_dag_that_airflow_hides_from_somebody_is_hidden_here_too(
    viewer: TestClient, attempted: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert attempted.catalog.units()
    manager = get_auth_manager()
    shown = viewer.get("/sluice/streams/departures")
    assert (shown.status_code, "departures" in shown.text) == (200, True)
    graph = viewer.get("/sluice/graph").text
    for node in ("topic flights", "pipeline departures", "table departures", "table departures_live"):
        assert f'aria-label="{node}' in graph, node
    assert 'href="/sluice/streams/departures' in graph
    monkeypatch.setattr(type(manager), "is_authorized_dag", lambda *_, **__: False)
    for page in ("streams/departures", "units/flights/log", "intervals/departures", "quality/departures", "topics"):
        assert viewer.get(f"/sluice/{page}").status_code == 404, page
    monkeypatch.setattr(type(manager), "get_authorized_dag_ids", lambda *_, **__: set())
    assert "departures" not in viewer.get("/sluice/").text
    assert "departures" not in viewer.get("/sluice/graph").text


@pytest.fixture
def attempted(project: Project) -> Project:
    """A project whose unit `flights` has a first generation."""
    registry = project.records.registry()
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="launch")
    registry.intend("flights", after_generation=0, key=KEY)
    return project


@pytest.mark.parametrize("page", ["spark-ui", "log"])
def test_a_page_is_not_shown_to_somebody_who_has_not_logged_in(visitor: TestClient, page: str) -> None:
    assert visitor.get(f"/sluice/units/flights/{page}").status_code == 401

    browser = visitor.get(f"/sluice/units/flights/{page}", headers={"accept": "text/html"})
    assert browser.status_code == 303
    assert "/login" in browser.headers["location"]


def test_the_spark_ui_page_redirects_to_the_driver_of_the_newest_generation(
    viewer: TestClient, attempted: Project
) -> None:
    progress = attempted.folder.progress_file("raw_flights")
    progress.parent.mkdir(parents=True)
    assert viewer.get("/sluice/units/flights/spark-ui").status_code == 404

    report = {"unit": "flights", "generation": 1, "spark_ui": "http://127.0.0.1:4040"}
    progress.write_text(json.dumps(report), encoding="utf-8")
    answer = viewer.get("/sluice/units/flights/spark-ui")
    assert (answer.status_code, answer.headers["location"]) == (307, "http://127.0.0.1:4040")

    progress.write_text(json.dumps({**report, "generation": 0}), encoding="utf-8")
    assert viewer.get("/sluice/units/flights/spark-ui").status_code == 404


def test_the_log_page_shows_the_end_of_the_drivers_log(viewer: TestClient, attempted: Project) -> None:
    file = attempted.processes.launcher().log(KEY)
    assert viewer.get("/sluice/units/flights/log").status_code == 404

    file.parent.mkdir(parents=True)
    file.write_text("started\n", encoding="utf-8")
    assert viewer.get("/sluice/units/flights/log").text == "started\n"


@pytest.mark.parametrize("unit", ["weather", "..%2F..%2Fetc", "Flights"])
def test_what_never_ran_and_what_cannot_be_a_unit_have_no_page(
    viewer: TestClient, attempted: Project, unit: str
) -> None:
    assert attempted.records.registry().latest_attempt("flights") is not None
    assert viewer.get(f"/sluice/units/{unit}/log").status_code in {404, 422}


def test_the_end_of_a_log_begins_with_a_whole_line(tmp_path: Path) -> None:
    file = tmp_path / "driver.log"
    file.write_text("first line\nsecond line\nthird line\n", encoding="utf-8")

    assert last_lines(file, 20) == "third line\n"
    assert last_lines(file, 1000).startswith("first")


def test_a_watch_links_to_the_pages() -> None:
    watch: BaseOperator = WatchOperator(task_id="watch", unit="flights")
    key = TaskInstanceKey("stream_flights", "watch", "r1")

    assert [type(link) for link in watch.operator_extra_links] == [SparkUiLink, DriverLogLink]
    assert SparkUiLink().get_link(watch, ti_key=key) == "/sluice/units/flights/spark-ui"
    assert DriverLogLink().get_link(watch, ti_key=key) == "/sluice/units/flights/log"


@pytest.fixture
def reports(project: Project) -> Project:
    """A project with the reports of a backfill and of a table, and a file that is none of anybody's business."""
    folder = project.folder.backfill(BACKFILL)
    table = project.folder.quality("departures").with_suffix(".html")
    for file in (folder / "parity.html", folder / "quality.html", table, project.folder.backfills / "parity.html"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<h1>{file.parent.name}/{file.name}</h1>", encoding="utf-8")
    return project


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize(
    ("page", "found"),
    [
        (f"backfills/{BACKFILL}/parity", f"{BACKFILL}/parity.html"),
        (f"backfills/{BACKFILL}/quality", f"{BACKFILL}/quality.html"),
        ("quality/departures/report", "departures/latest.html"),
    ],
)
def test_a_report_is_shown_to_who_may_look_and_runs_no_script(
    visitor: TestClient, viewer: TestClient, page: str, found: str
) -> None:
    answer = viewer.get(f"/sluice/{page}")

    assert answer.text == f"<h1>{found}</h1>"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert visitor.get(f"/sluice/{page}").status_code == 401


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize(
    "page",
    [
        "backfills/../parity",
        "backfills/%2e%2e/parity",
        "backfills/..%2f..%2fcontrol.db/parity",
        "backfills/.%00/parity",
        f"backfills/{BACKFILL}%2f..%2f/parity",
        f"backfills/{BACKFILL}/result",
        "backfills/departures-20261121T120000-ffff/parity",
        "quality/../report",
        "quality/%2e%2e/report",
        "quality/arrivals",
        "quality/Departures",
    ],
)
def test_no_name_leads_out_of_the_folder_of_reports(viewer: TestClient, page: str) -> None:
    answer = viewer.get(f"/sluice/{page}")

    # What the client itself resolves to another path gets Airflow's own page for unknown addresses.
    assert answer.status_code in {404, 422} or "<h1>" not in answer.text
