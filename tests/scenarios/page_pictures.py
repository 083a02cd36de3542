"""Pictures of the examples' pages for their READMEs: `make pictures`. Needs Chromium and some minutes."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sluice.cli.scaffold.examples import example_names, examples_folder
from tests.integration.brokers import own_broker_in
from tests.scenarios.example_pages import fills
from tests.scenarios.live_example import live_example
from tests.verify.browser import running_browser

_FEED_SECONDS = 60.0
_WIDTH, _HEIGHT = 1280, 640


def take(names: Sequence[str], examples: Path) -> list[Path]:
    """Run each example, and put a picture of each of its pages beside its README; return the files."""
    return [file for name in names for file in _taken(name, examples / name)]


def _taken(name: str, folder: Path) -> list[Path]:
    with (
        tempfile.TemporaryDirectory(prefix="sluice-picture-") as root,
        own_broker_in(Path(root) / "broker") as broker,
        live_example(name, Path(root), broker) as example,
        running_browser(Path(root) / "profile") as browser,
    ):
        browser.show_as(width=_WIDTH, height=_HEIGHT)
        with example.feeding(_FEED_SECONDS):
            pass
        files = []
        for page, address in example.pages.items():
            fills(browser, example, address)
            files.append(folder / f"{page}.png")
            browser.screenshot(files[-1])
        return files


if __name__ == "__main__":
    for file in take(sys.argv[1:] or example_names(examples_folder()), examples_folder()):
        sys.stdout.write(f"{file.name}: {file.stat().st_size / 1024:.0f} KiB\n")
