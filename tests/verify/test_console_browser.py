"""Every page of the console in a real browser: with data, light and dark, wide and narrow. Needs Chromium."""

from __future__ import annotations

import shutil
import struct
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.devstack.stack import down, up
from sluice.launch.processes import wait_until
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.streams.life.attempts import Desired
from tests.twins.console_chains import add_chains
from tests.twins.console_fleet import HALTED, LAGGING, build_fleet, pipeline_of, topic_of
from tests.unit.proof.report_files import proof_ids
from tests.verify.browser import running_browser
from tests.verify.screenshots import ALL, HEIGHT, LIVE, serving, take
from tests.verify.screenshots import PAGES as PICTURED
from tests.verify.test_browser import BROKEN

pytestmark = [pytest.mark.verify, pytest.mark.timeout(600)]

PAGES = (
    "/",
    "/?health=OK&page=2",
    "/graph",
    f"/graph?pipeline={pipeline_of(0)}",
    f"/streams/{pipeline_of(LAGGING)}",
    f"/streams/{pipeline_of(HALTED)}",
    "/topics",
    f"/topics/{topic_of(0)}",
    "/intervals",
    f"/intervals/{pipeline_of(0)}?at=2013-01-20T23:00Z",
    "/quality",
    f"/quality/{pipeline_of(0)}",
    "/alerts",
    "/alerts/00000003",
    "/objectives",
    "/proofs",
    f"/proofs/{pipeline_of(0)}",
    f"/proofs/{pipeline_of(1)}/{proof_ids(pipeline_of(1))[1]}",
    f"/proofs/{pipeline_of(40)}",
    "/cost",
    "/streams/nobody",
)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the console without a login over sixty units."""
    fleet = build_fleet(tmp_path_factory.mktemp("fleet"), 60, SystemClock())
    add_chains(fleet, SystemClock().now())
    with serving(fleet, SystemClock()) as address:
        yield address


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_every_page_fits_and_nothing_is_wrong_with_it(console: str, tmp_path: Path, width: int, dark: bool) -> None:
    with running_browser(tmp_path / "profile") as browser:
        browser.collect_errors()
        browser.show_as(width=width, dark=dark)
        for path in PAGES:
            browser.open(console + path)
            browser.wait_for(f"document.readyState === 'complete' && location.href.endsWith({path!r})")
            found = browser.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert found[0] <= found[1], f"{path} is {found[0]} wide in {found[1]}"
            assert browser.value("document.documentElement.dataset.theme") == ("dark" if dark else "light")
            assert browser.value("document.title") != "taken", path
            assert browser.value("document.querySelectorAll('main h1').length") == 1, path
            assert browser.value("[...document.images].length") == 0, path
        complaints = [said for said in browser.errors if "/streams/nobody" not in said]  # a page that is not there
        assert complaints == []


def test_a_picture_is_taken_of_every_page_light_and_dark_wide_and_narrow(tmp_path: Path) -> None:
    taken = take(ALL, tmp_path)
    assert {picture.page for picture in ALL} == {*PICTURED, LIVE}
    sizes = [struct.unpack(">II", file.read_bytes()[16:24]) for file in taken]
    assert sizes == [(picture.width, HEIGHT) for picture in ALL]


def test_text_can_be_read_on_its_ground_in_light_and_dark(console: str, tmp_path: Path) -> None:
    with running_browser(tmp_path / "profile") as browser:
        for dark in (False, True):
            browser.show_as(width=1400, dark=dark)
            browser.open(console + "/")
            browser.wait_for("document.querySelectorAll('tbody tr').length > 10")
            for selector in ("td", ".quiet", ".todo", ".mark.good", ".mark.bad", ".mark.warning", "a", ".chips a"):
                assert browser.value(_CONTRAST.replace("SELECTOR", selector)) >= 4.5, (selector, dark)


_CONTRAST = """(() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const c = rgb(getComputedStyle(node).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  return Math.min(...[...document.querySelectorAll("main SELECTOR")].map(node => {
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05); }));
})()"""


def test_every_text_of_the_graph_lies_within_its_node(console: str, tmp_path: Path) -> None:
    with running_browser(tmp_path / "profile") as browser:
        browser.open(console + "/graph")
        browser.wait_for("document.querySelectorAll('svg.flow a').length > 50")
        beyond = """[...document.querySelectorAll("svg.flow text")].filter(text => {
          const [own, node] = [text.getBBox(), text.parentNode.querySelector("rect").getBBox()];
          return own.x < 0 || own.y < 0 || own.x + own.width > node.width || own.y + own.height > node.height;
        }).map(text => text.textContent)"""
        assert browser.value(beyond) == []


def test_a_page_keeps_itself_fresh_and_leaves_who_is_typing_alone(console: str, tmp_path: Path) -> None:
    with running_browser(tmp_path / "profile") as browser:
        browser.open(console + "/")
        browser.wait_for("document.querySelector('footer time')")
        before = browser.value("document.querySelector('footer time').dateTime")
        browser.wait_for(f"document.querySelector('footer time').dateTime !== {before!r}")
        browser.click("input[type=search]")
        browser.type("pipe00")
        held = browser.value("document.querySelector('footer time').dateTime")
        browser.value("void setTimeout(() => { window.later = true }, 12000)")
        browser.wait_for("window.later")
        assert browser.value("document.querySelector('footer time').dateTime") == held
        assert browser.value("document.querySelector('input[type=search]').value") == "pipe00"


def test_everything_is_reached_by_keyboard(console: str, tmp_path: Path) -> None:
    with running_browser(tmp_path / "profile") as browser:
        browser.open(console + "/")
        browser.wait_for("document.querySelector('main h1')")
        browser.press("Tab")
        assert browser.value("document.activeElement.className") == "skip"
        reached = []
        for _ in range(30):
            browser.press("Tab")
            reached.append(browser.value("document.activeElement.textContent.trim().slice(0, 20)"))
        assert "Topics" in reached
        assert pipeline_of(HALTED) in reached


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Settings]]:
    """Bring up Kafka and Airflow over a copy of the project."""
    home, source = tmp_path_factory.mktemp("project"), settings().home
    for folder in ("dags", "plugins", "spark_jobs", "include"):
        shutil.copytree(source / folder, home / folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert not (home / BROKEN).exists()
    place = Settings(home=home, state=home / ".sluice")
    try:
        yield up(place).airflow_url, place
    finally:
        down(place)


def test_in_airflow_it_is_in_the_navigation_takes_its_theme_and_starts_runs(
    stack: tuple[str, Settings], tmp_path: Path
) -> None:
    airflow, place = stack
    with running_browser(tmp_path / "profile") as browser:
        browser.show_as(width=1400, dark=True)
        browser.open(f"{airflow}/plugin/sluice")
        inside = "document.querySelector('iframe')?.contentDocument?"
        browser.wait_for(f"{inside}.querySelector('main h1')")
        browser.wait_for(
            f"{inside}.documentElement.dataset.theme === "
            "(document.documentElement.classList.contains('dark') ? 'dark' : 'light')"
        )
        browser.value("document.documentElement.classList.replace('dark', 'light')")
        browser.wait_for(f"{inside}.documentElement.dataset.theme === 'light'")
        browser.value(
            "void (document.querySelector('iframe').contentWindow.location.href = '/sluice/streams/departures')"
        )
        browser.wait_for(f"{inside}.querySelector('[data-dialog]')")
        browser.value(f"{inside}.querySelector('[data-dialog]').click()")
        browser.wait_for(f"{inside}.querySelector('dialog[open]')")
        action = browser.value(f"{inside}.querySelector('dialog[open] input[name=action]').value")
        browser.value(
            "document.querySelector('iframe').contentDocument.querySelector('dialog[open] input[name=reason]').value"
            " = 'tried in a browser'"
        )
        browser.value(f"{inside}.querySelector('dialog[open] button[type=submit]').click()")
        browser.wait_for(f"{inside}.querySelector('main h1')?.textContent === 'Requested'")
        registry = Project.open_strict(place).records.registry()
        wanted = Desired.STOPPED if action == "stop" else Desired.RUNNING
        assert wait_until(
            lambda: (
                (wish := registry.desired("flights")) is not None
                and (wish.state, "tried in a browser" in wish.why) == (wanted, True)
            ),
            SystemClock(),
            deadline_seconds=90,
        )
        browser.value(f"{inside}.querySelector('a[data-airflow]').click()")
        browser.wait_for("location.pathname.startsWith('/dags/stream_flights/runs/')")
        browser.wait_for("document.body.innerText.includes('stream_flights')")
    with urllib.request.urlopen(f"{airflow}/api/v2/dags/stream_flights/dagRuns") as answer:  # noqa: S310  loopback
        assert b"tried in a browser" in answer.read()
