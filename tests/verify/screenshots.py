"""Pictures of the console and of a live page for the documentation: `make screenshots`. Needs Chromium.

The fleet is the one of the tests, with harmless words, at a time that stands still: a rerun changes what was changed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

from sluice.clock import Clock
from sluice.console.app import create_console
from sluice.console.context.access import login_free_gate
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from tests.http_servers import serving_app
from tests.twins.clock import ManualClock
from tests.twins.console_chains import add_chains
from tests.twins.console_fleet import LAGGING, ConsoleFleet, build_fleet, pipeline_of, topic_of
from tests.unit.serve.live_page import PANELS, fill, hub_of, paged_pipeline, serving_page
from tests.verify.browser import Browser, running_browser

UNITS = 12
NOW = datetime(2013, 1, 21, 12, 0, tzinfo=UTC)
VERY_WIDE, WIDE, NARROW = 1900, 1400, 400
HEIGHT = 640
PAGES = {
    "fleet": "/",
    "graph": "/graph",
    "stream": f"/streams/{pipeline_of(LAGGING)}",
    "topics": "/topics",
    "topic": f"/topics/{topic_of(0)}",
    "intervals": f"/intervals/{pipeline_of(0)}",
    "quality": "/quality",
    "alerts": "/alerts",
    "objectives": "/objectives",
    "proofs": "/proofs",
    "proof": f"/proofs/{pipeline_of(0)}",
    "cost": "/cost",
}
LIVE = "live"
"""The page of `sluice serve`."""


@dataclass(frozen=True)
class Picture:
    """One picture.

    Attributes:
        page: a key of `PAGES`, or `LIVE`.
        width: of the window, in pixels.
        dark: what its visitor likes.
    """

    page: str
    width: int = WIDE
    dark: bool = False

    @property
    def file(self) -> str:
        """Its file's name."""
        return f"{self.page}-{'dark' if self.dark else 'light'}-{self.width}.png"


SHOWN = (
    Picture("fleet"),
    Picture("fleet", NARROW, dark=True),
    Picture("stream", dark=True),
    Picture("graph", VERY_WIDE),
    Picture("intervals"),
    Picture("quality", NARROW),
    Picture(LIVE),
)
"""What the documentation shows."""
ALL = tuple(Picture(*each) for each in product((*PAGES, LIVE), (WIDE, NARROW), (False, True)))


def take(pictures: Sequence[Picture], folder: Path) -> list[Path]:
    """Take pictures of the console over a fleet of its own, and return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sluice-pictures-") as made:
        clock = ManualClock(NOW)
        fleet = build_fleet(Path(made) / "fleet", UNITS, clock, aside="")
        add_chains(fleet, NOW)
        hub = hub_of(paged_pipeline(*PANELS), clock)
        fill(hub, NOW)
        with (
            serving(fleet, clock) as console,
            serving_page(hub, clock) as live,
            running_browser(Path(made) / "profile") as browser,
        ):
            addresses = {page: console + path for page, path in PAGES.items()} | {LIVE: f"{live}/departures"}
            return [_taken(browser, addresses[picture.page], picture, folder) for picture in pictures]


@contextmanager
def serving(fleet: ConsoleFleet, clock: Clock) -> Iterator[str]:
    """Serve the console of a fleet without a login; give its address."""
    fresh = ReloadingProject(lambda: Project.open_strict(fleet.settings), place=lambda: fleet.settings)
    with serving_app(create_console(fresh, login_free_gate, clock=clock)) as address:
        yield address


def _taken(browser: Browser, address: str, picture: Picture, folder: Path) -> Path:
    browser.show_as(width=picture.width, height=HEIGHT, dark=picture.dark)
    browser.open(address)
    browser.wait_for(f"document.readyState === 'complete' && location.href === {address!r}")
    theme = "dark" if picture.dark else "light"
    browser.wait_for(f"document.querySelector('main h1') && document.documentElement.dataset.theme === {theme!r}")
    if picture.page == LIVE:
        browser.wait_for("document.getElementById('state').textContent === 'live'")
    file = folder / picture.file
    browser.screenshot(file, whole=False)
    return file


def main() -> None:
    """Take the pictures that the documentation shows, or all that there could be."""
    parser = argparse.ArgumentParser(prog="make screenshots", description="Take pictures of the console.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true", help="Of every page, light and dark, wide and narrow.")
    arguments = parser.parse_args()
    for file in take(ALL if arguments.all else SHOWN, arguments.folder):
        sys.stdout.write(f"{file}: {file.stat().st_size / 1024:.0f} KiB\n")


if __name__ == "__main__":
    main()
