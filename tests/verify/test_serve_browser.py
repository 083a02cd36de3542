"""The pages of `sluice serve` in a real browser, over a table that changes under its eyes. Needs Chromium."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
import uvicorn

from sluice.alerts.dispatch import AlertDispatcher
from sluice.alerts.journal import Journal
from sluice.clock import SystemClock
from sluice.console.context.access import login_free_gate
from sluice.delta.latest import DeltaLatest
from sluice.intervals.entries import StreamEntry
from sluice.intervals.writers import writer_id
from sluice.launch.ports import HOST
from sluice.live.store import Change, LatestTable
from sluice.project.project import Project
from sluice.serve.server import ServerAddress, application
from sluice.settings import Settings, settings
from tests.integration.delta.test_latest import spark_schema
from tests.verify.browser import running_browser
from tests.waiting import eventually

pytestmark = [pytest.mark.verify, pytest.mark.timeout(300)]

HOSTILE = "<img src=x onerror=\"document.title = 'taken'\">"
SCHEMA = pa.schema(
    [
        ("hour", pa.timestamp("us", tz="UTC")),
        ("origin", pa.string()),
        ("carrier", pa.string()),
        ("delay_max_min", pa.int64()),
    ]
)
TABLE = LatestTable("departures_live", SCHEMA, ("hour", "origin", "carrier"), time_column="hour")
RULE = "alerts: [{name: long_delays, output: departures_live, when: {delay_max_min: {above: 60}}}]\n"
PAGE = "/departures/departures_live"
HOUR = datetime(2013, 1, 1, 5, tzinfo=UTC)


@dataclass
class Served:
    """Where it is served, and how its table is written."""

    address: str
    write: Callable[..., None]
    journal: Journal


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    home = tmp_path / "home"
    for name in ("include", "spark_jobs"):
        shutil.copytree(settings().home / name, home / name, ignore=shutil.ignore_patterns("__pycache__", "sluice"))
    spec = home / "include" / "pipelines" / "departures.yaml"
    spec.write_text(spec.read_text() + RULE)
    place = Settings(home=home, state=tmp_path / "state")
    writer = writer_id("departures_live", "topic", 0)
    store = DeltaLatest(place.folder.table("departures_live"), TABLE, spark_schema(SCHEMA), writer, 1)
    store.open()
    ends = iter(range(1, 1_000))

    def write(*given: tuple[str, int], carrier: str = "AA") -> None:
        end = next(ends)
        data = {
            "hour": [HOUR] * len(given),
            "origin": [origin for origin, _ in given],
            "carrier": [carrier] * len(given),
            "delay_max_min": [delay for _, delay in given],
        }
        entry = StreamEntry(writer, 1, "a", end, {}, {"t/0": end}, watermark=HOUR)
        store.apply(Change(pa.table(data, schema=SCHEMA), entry, 2 * end))

    write(("JFK", 5), ("EWR", 7), (HOSTILE, 1))
    journal = Journal(tmp_path / "alerts")
    dispatcher = AlertDispatcher(SystemClock())
    dispatcher.journal = journal
    listening = ServerAddress(_listening(), "http://serve")
    app = application(lambda: Project.open_strict(place), login_free_gate, lambda: dispatcher, listening)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening.listening]})
    thread.start()
    try:
        eventually(lambda: server.started)
        yield Served(f"http://{HOST}:{listening.listening.getsockname()[1]}", write, journal)
    finally:
        server.should_exit = True
        thread.join(30)


def _listening():  # noqa: ANN202 - a socket
    import socket  # noqa: PLC0415 - one line

    return socket.create_server((HOST, 0))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_every_page_fits_and_nothing_is_wrong_with_it(served: Served, tmp_path: Path, width: int, dark: bool) -> None:
    with running_browser(tmp_path / "profile") as browser:
        browser.collect_errors()
        browser.show_as(width=width, dark=dark)
        for path in ("/", PAGE, f"{PAGE}?origin=JFK"):
            browser.open(served.address + path)
            browser.wait_for(f"document.readyState !== 'loading' && location.href.endsWith({path!r})")
            browser.wait_for("document.querySelectorAll('tbody tr').length > 0")
            found = browser.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert found[0] <= found[1], f"{path} is {found[0]} wide in {found[1]}"
            assert browser.value("document.documentElement.dataset.theme") == ("dark" if dark else "light")
            assert browser.value("document.title") != "taken", path
            assert browser.value("document.querySelectorAll('main h1').length") == 1
        assert browser.errors == []


def test_a_table_moves_holds_still_and_goes_on(served: Served, tmp_path: Path) -> None:
    def cell(origin: str) -> str:
        row = f"[...document.querySelectorAll('#values tbody tr')].find(r => r.cells[1].innerText === {origin!r})"
        return f"({row} || {{cells: []}}).cells[3]?.innerText"

    with running_browser(tmp_path / "profile") as browser:
        browser.collect_errors()
        browser.open(served.address + PAGE)
        browser.wait_for("document.getElementById('state')?.textContent === 'live'")
        browser.wait_for(f"{cell('JFK')} === '5'")
        served.write(("JFK", 61), ("LGA", 9))
        browser.wait_for(f"{cell('JFK')} === '61'")
        browser.wait_for(f"{cell('LGA')} === '9'")
        assert browser.value("document.querySelectorAll('#values tbody tr').length") == 4
        assert browser.value(f"document.body.innerText.includes({HOSTILE!r})"), "it is shown as text"

        browser.click("#pause")
        browser.wait_for("document.getElementById('pause').getAttribute('aria-pressed') === 'true'")
        served.write(("JFK", 99))
        eventually(lambda: len(served.journal.read().alerts) == 1)
        assert browser.value(cell("JFK")) == "61"
        browser.click("#pause")
        browser.wait_for(f"{cell('JFK')} === '99'")
        assert browser.errors == []
    (alert,) = served.journal.read().alerts
    assert alert.what == "departures: long_delays holds for 2013-01-01T05:00:00Z, JFK, AA"
