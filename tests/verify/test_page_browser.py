"""A page of `sluice serve` in a real browser: at any width, by keys, and while it moves. Needs Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sluice.clock import SystemClock
from tests.unit.serve.live_page import NOON, PANELS, HubByHand, fill, hub_of, paged_pipeline, serving_page
from tests.verify.browser import Browser, running_browser

pytestmark = [pytest.mark.verify, pytest.mark.timeout(300)]

HOSTILE = "<img src=x onerror=\"document.title = 'taken'\">"
ARABIC = "مطار جون كينيدي الدولي"
LIVE = "document.getElementById('state')?.textContent === 'live'"
LINE, NUMBER = "#panel-4", "#panel-1"
OVERLAPS = """
[...document.querySelectorAll('.picture')].flatMap(picture => {
  const texts = [...picture.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
  const panel = picture.closest('section, figure').getBoundingClientRect();
  const out = texts.filter(([, box]) => box.left < panel.left || box.right > panel.right);
  const over = texts.flatMap(([one, a], n) => texts.slice(n + 1)
    .filter(([, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
    .map(([other]) => one + ' over ' + other));
  return [...out.map(([text]) => text + ' beyond the panel'), ...over];
})
"""
"""Texts of pictures that cannot be read."""
CONTRASTS = """
(() => {
  const parts = colour => colour.match(/[0-9.]+/g).map(Number);
  const light = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * light(r / 255) + 0.7152 * light(g / 255) + 0.0722 * light(b / 255);
  const ground = e => {
    const colour = getComputedStyle(e).backgroundColor;
    return parts(colour)[3] === 0 && e.parentElement ? ground(e.parentElement) : colour;
  };
  const contrast = e => {
    const colour = getComputedStyle(e)[e instanceof SVGElement ? 'fill' : 'color'];
    const [more, less] = [colour, ground(e)].map(parts).map(luminance).sort((a, b) => b - a);
    return (more + 0.05) / (less + 0.05);
  };
  return [...document.querySelectorAll('main *')]
    .filter(e => [...e.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.nodeValue.trim()))
    .filter(e => e.getClientRects().length && !e.closest('.hidden, title'))
    .map(e => [e.textContent.trim().slice(0, 30), contrast(e)]).filter(([, found]) => found < 4.5);
})()
"""
"""Texts with too little contrast to their ground."""
WIDE = """
[...document.querySelectorAll('main *')].filter(e => !e.closest('.values, .wide, .hidden'))
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(e => e.tagName + '.' + e.getAttribute('class') + ' ' + e.textContent.slice(0, 40))
"""
"""What makes the page wider than its window."""


@dataclass
class Shown:
    """A page, and the hub that it shows."""

    address: str
    hub: HubByHand

    def put(self, minutes: int, departed: int, origin: str = "JFK") -> None:
        minute = NOON + timedelta(minutes=minutes)
        row = {"minute": minute, "origin": origin, "departed": departed, "delay": 5}
        self.hub.put("departures_live", row)


@pytest.fixture
def page() -> Iterator[Shown]:
    hub = hub_of(paged_pipeline(*PANELS), SystemClock())
    fill(hub)
    with serving_page(hub, SystemClock()) as address:
        yield Shown(f"{address}/departures", hub)


def opened(browser: Browser, page: Shown) -> None:
    browser.collect_errors()
    browser.open(page.address)
    browser.wait_for(f"document.readyState === 'complete' && {LIVE}")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_a_page_fits_and_can_be_read(page: Shown, tmp_path: Path, width: int, dark: bool) -> None:
    for text in (HOSTILE, ARABIC, "a" * 500):
        page.put(0, 3, text)
        page.hub.put("airlines_live", {"airline": text, "departed": 10**9, "change": -0.5})
        page.hub.put("planes_latest", {"plane": text, "lon": -73, "lat": 41, "state": text})
    with running_browser(tmp_path / "profile") as browser:
        browser.show_as(width=width, dark=dark)
        opened(browser, page)
        assert browser.value(WIDE) == []
        found = browser.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert found[0] <= found[1], f"it is {found[0]} wide in {found[1]}"
        assert browser.value("document.documentElement.dataset.theme") == ("dark" if dark else "light")
        assert browser.value("document.querySelectorAll('main h1').length") == 1
        assert browser.value("document.querySelectorAll('main h2').length") == len(PANELS)
        assert browser.value("document.title") != "taken"
        assert browser.value(f"document.body.innerText.includes({HOSTILE!r})"), "it is shown as text"
        assert browser.value(OVERLAPS) == []
        assert browser.value(CONTRASTS) == []
        assert browser.errors == []


def test_a_panel_moves_and_what_the_reader_does_with_it_stays(page: Shown, tmp_path: Path) -> None:
    readout = f"document.querySelector('{LINE} .readout').textContent"
    with running_browser(tmp_path / "profile") as browser:
        opened(browser, page)
        browser.value(f"document.querySelector('{LINE} .plot').focus()")
        browser.value(f"document.querySelector('{LINE} details').open = true")
        browser.value(f"window.kept = document.querySelector('{LINE} .mark-area:last-child rect')")
        browser.press("End")
        browser.wait_for(f"{readout}.startsWith('2013-01-21 12:00 UTC')")
        browser.press("ArrowLeft")
        browser.wait_for(f"{readout}.startsWith('2013-01-21 11:59 UTC')")
        before = browser.value(f"document.querySelector('{LINE} path.line').getAttribute('d')")

        page.put(0, 1777)
        browser.wait_for(f"document.querySelector('{LINE} .values').textContent.includes('1,777')")
        assert browser.value(f"document.querySelector('{LINE} path.line').getAttribute('d')") != before
        assert browser.value(f"document.activeElement === document.querySelector('{LINE} .plot')")
        assert browser.value(f"document.querySelector('{LINE} details').open")
        assert browser.value(f"window.kept === document.querySelector('{LINE} .mark-area:last-child rect')")
        assert browser.value(f"{readout}.startsWith('2013-01-21 11:59 UTC')")
        browser.press("ArrowRight")
        browser.wait_for(f"{readout}.includes('1,777')")
        page.put(0, 1778)
        browser.wait_for(f"{readout}.includes('1,778')")
        browser.press("Escape")
        browser.wait_for(f"{readout} === ''")
        assert browser.errors == []


def test_numbers_are_announced_at_leisure_and_a_paused_page_holds_still(page: Shown, tmp_path: Path) -> None:
    number = f"document.querySelector('{NUMBER} .number span').textContent"
    with running_browser(tmp_path / "profile") as browser:
        opened(browser, page)
        browser.value(
            "window.said = []; new MutationObserver(() => said.push([Date.now(), announcement.textContent]))"
            ".observe(announcement, {childList: true})"
        )
        shown = [browser.value(number)]
        for departed in range(100, 112):
            page.put(0, departed)
            browser.wait_for(f"{number} !== {shown[-1]!r}")
            shown.append(browser.value(number))
        browser.wait_for("said.length >= 2")
        times = [at for at, _ in browser.value("said")]
        assert all(later - earlier >= 9_900 for earlier, later in pairwise(times))
        assert "Departures: " in browser.value("said[0][1]")

        browser.click("#pause")
        browser.wait_for("document.getElementById('state').textContent === 'paused'")
        page.put(0, 500)
        page.hub.put("airlines_live", {"airline": "Nobody", "departed": 10**6, "change": 0})
        browser.click("#pause")
        browser.wait_for(f"{number} !== {shown[-1]!r}")
        browser.wait_for("document.querySelector('.ranking th bdi').textContent.includes('Nobody') || "
                         "document.querySelector('.ranking tbody th').textContent.includes('Nobody')")  # fmt: skip
        assert browser.errors == []


def test_a_page_says_since_when_it_is_not_connected_and_goes_on(tmp_path: Path) -> None:
    hub = hub_of(paged_pipeline(*PANELS), SystemClock())
    fill(hub)
    with running_browser(tmp_path / "profile") as browser:
        with ExitStack() as first:
            address = first.enter_context(serving_page(hub, SystemClock()))
            browser.open(f"{address}/departures")
            browser.wait_for(LIVE)
        browser.wait_for(
            "/^not connected since \\d\\d:\\d\\d:\\d\\d UTC$/.test(document.getElementById('state').textContent)"
        )
        page = Shown(address, hub)
        page.put(0, 1234)
        with serving_page(hub, SystemClock(), port=urlsplit(address).port or 0):
            browser.wait_for(LIVE)
            browser.wait_for("document.querySelector('#panel-4 .values').textContent.includes('1,234')")
            hub.live("departures_live").follower._in_trouble("no broker answers")
            browser.wait_for("document.querySelector('#panel-4 .problem')?.textContent.includes('no broker answers')")
