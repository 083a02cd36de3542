"""The pages of each example in a real browser while its data flows. Needs Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.cli.scaffold.examples import example_names, examples_folder
from sluice.devstack.kafka.broker import BrokerProcess
from tests.scenarios.example_pages import fills, moves
from tests.scenarios.live_example import live_example
from tests.verify.browser import running_browser

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]

FEED_SECONDS = 90.0


@pytest.mark.parametrize("name", example_names(examples_folder()))
def test_every_panel_shows_values_and_moves_while_data_flows(
    name: str, own_broker: BrokerProcess, tmp_path: Path
) -> None:
    with live_example(name, tmp_path, own_broker) as example, running_browser(tmp_path / "profile") as browser:
        assert example.pages
        browser.collect_errors()
        with example.feeding(FEED_SECONDS):
            moved = {page: moves(browser, example, address) for page, address in example.pages.items()}
        for page, address in example.pages.items():
            assert fills(browser, example, address) == [], page
        assert browser.errors == []
        assert moved == dict.fromkeys(example.pages, True)
