"""The pages of a live example in a real browser."""

from __future__ import annotations

from sluice.clock import SystemClock
from sluice.launch.processes import wait_until
from tests.scenarios.live_example import LiveExample
from tests.verify.browser import Browser

_LIVE = "document.getElementById('state')?.textContent === 'live'"
_PANELS = "document.querySelectorAll('.panel').length"
_SENTENCES = "[...document.querySelectorAll('.panel .empty')].map(each => each.textContent)"
_TROUBLES = "[...document.querySelectorAll('.panel .problem, .panel .todo')].map(each => each.textContent)"
_TEXTS = "[...document.querySelectorAll('.panel')].map(each => each.textContent).join('|')"


def moves(browser: Browser, example: LiveExample, address: str) -> bool:
    """Open a page that shows something, and return whether it shows something else soon, without being loaded anew."""
    _open(browser, address)
    example.driver.eventually(lambda: len(browser.value(_SENTENCES)) < browser.value(_PANELS), "has filled one panel")
    before = browser.value(_TEXTS)
    return wait_until(lambda: browser.value(_TEXTS) != before, SystemClock(), deadline_seconds=60)


def fills(browser: Browser, example: LiveExample, address: str) -> list[str]:
    """Open a page, wait until every panel shows values, and return what else its panels say."""
    _open(browser, address)
    example.driver.eventually(lambda: browser.value(_SENTENCES) == [], f"fills all of {address}")
    found: list[str] = browser.value(_TROUBLES)
    return found


def _open(browser: Browser, address: str) -> None:
    browser.open(address)
    browser.wait_for(f"location.href === {address!r} && {_LIVE}")
