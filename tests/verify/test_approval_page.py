"""Somebody approves a plan of topics in Airflow's own pages, in a real browser. Needs Chromium.

`SLUICE_SCREENSHOTS` names a folder that keeps what was to be seen.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sluice.airflow.web.markdown import table
from sluice.devstack.airflow.api import AirflowApi, succeeded
from sluice.devstack.stack import down, up
from sluice.launch.endpoints import read_endpoints
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.topics.administration import TopicState
from tests.verify.browser import Browser, running_browser

pytestmark = [pytest.mark.verify, pytest.mark.timeout(600)]

SPEC = "include/topics/flights.yaml"
DEADLINE_SECONDS = 240.0
APPROVE = "[data-testid=hitl-option-Approve]"
HOSTILE = (
    "a | b \\| c \\",
    "<script>document.title = 'x'</script> <img src=x onerror=alert(1)>",
    "[approve](https://evil.example) ![x](https://evil.example/x.png)",
    "https://evil.example www.evil.example ada@evil.example",
    "*bold* __bold__ ~~struck~~ `code` :smile: [^1]",
    "&lt;b&gt; &#124; {{ 7*7 }} ${7*7}",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Bring up a stack over a copy of the project, and create its topics."""
    home, source = tmp_path_factory.mktemp("project"), settings().home
    for folder in ("dags", "plugins", "spark_jobs", "include"):
        shutil.copytree(source / folder, home / folder, ignore=shutil.ignore_patterns("__pycache__"))
    place = Settings(home=home, state=home / ".sluice")
    try:
        airflow = AirflowApi(up(place).airflow_url)
        airflow.wait("topics", airflow.trigger("topics"), succeeded, DEADLINE_SECONDS)
        yield place
    finally:
        down(place)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with running_browser(tmp_path / "profile") as browser:
        yield browser


def keep(browser: Browser, name: str) -> None:
    folder = os.environ.get("SLUICE_SCREENSHOTS")
    if folder:
        browser.screenshot(Path(folder) / f"{name}.png")


def edit(place: Settings, *changes: tuple[str, str]) -> None:
    """Change the spec of the topic."""
    spec = place.home / SPEC
    for before, after in changes:
        assert before in spec.read_text()
        spec.write_text(spec.read_text().replace(before, after))


def ask(place: Settings) -> tuple[AirflowApi, str, str]:
    """Let the DAG ask somebody, and return Airflow, the run and the address of the page."""
    url = read_endpoints(place.folder).airflow_url
    airflow = AirflowApi(url)
    run_id = airflow.trigger("topics")
    airflow.wait("topics", run_id, lambda run: run.tasks.get("approve") == "awaiting_input", DEADLINE_SECONDS)
    return airflow, run_id, f"{url}/dags/topics/runs/{run_id}/tasks/approve/required_actions"


def flights(place: Settings) -> TopicState:
    return Project.open_strict(place).kafka.administration().describe(["flights"])["flights"]


def test_somebody_reads_the_plan_types_the_name_and_approves(place: Settings, browser: Browser) -> None:
    edit(place, ("partitions: 4", "partitions: 8"), ("retention: forever", "retention: 30 days"))
    airflow, run_id, page = ask(place)

    browser.open(page)
    browser.wait_for(f"document.querySelector({json.dumps(APPROVE)}) && document.querySelector('table')")
    keep(browser, "asked")
    for seen in (
        "Apply plan",
        "2 changes to topics. All of them need a person who has read this.",
        "retention.ms",
        "2592000000",
        "partitions can never be taken away again",
        "types the names of the topics below: flights",
        "To approve: the names of all topics of which records may go.",
    ):
        assert seen in browser.text()
    assert flights(place).partitions == 4

    browser.click("input[name='element_losing']")
    browser.type("flights")
    keep(browser, "typed")
    browser.click(APPROVE)

    run = airflow.wait("topics", run_id, succeeded, DEADLINE_SECONDS)
    assert run.tasks == dict.fromkeys(("plan", "approve", "apply", "verify", "follow"), "success")
    assert (flights(place).partitions, flights(place).configs["retention.ms"]) == (8, "2592000000")


def test_what_stands_in_the_cluster_is_text_on_the_page_and_somebody_rejects(place: Settings, browser: Browser) -> None:
    edit(place, ("partitions: 8", "partitions: 12"))
    airflow, run_id, page = ask(place)
    # A broker takes no such value, so it is put where Airflow keeps the page.
    with closing(sqlite3.connect(place.folder.airflow / "airflow.db", timeout=15)) as database, database:
        database.execute("UPDATE hitl_detail SET body = ?", (table(["value"], [[text] for text in HOSTILE]),))

    browser.open(page)
    browser.wait_for("document.querySelectorAll('td').length > 0")
    keep(browser, "hostile")
    cells = browser.value("[...document.querySelectorAll('td')].map(cell => cell.textContent)")
    assert [cell.replace("\u200b", "") for cell in cells] == list(HOSTILE)
    assert browser.value("document.querySelectorAll('td *').length") == 0, "a cell holds nothing but text"

    browser.click("[data-testid=hitl-option-Reject]")

    run = airflow.wait("topics", run_id, succeeded, DEADLINE_SECONDS)
    skipped = dict.fromkeys(("apply", "verify", "follow"), "skipped")
    assert run.tasks == {"plan": "success", "approve": "success", **skipped}
    assert flights(place).partitions == 8
