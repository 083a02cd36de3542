"""The whole trial: build, start, a week of flights, faults alone and in pairs, a comparison, and nothing left."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.compose.containers import installed
from tests.compose.faults import Fault, pairs_of_faults, single_faults
from tests.compose.routes import open_routes
from tests.compose.scraped import wait_until_seen
from tests.compose.week import Outcome, Week

SEED = 29


@dataclass(frozen=True)
class Report:
    """What a trial found.

    Attributes:
        outcome: of the week and its faults.
        seconds: from the first start to the end, after the images were built.
        built: seconds that the images took.
        left: containers, networks and volumes that were there after `down`.
        open_routes: what answers without a login or in plain text, one sentence each.
    """

    outcome: Outcome
    seconds: float
    built: float
    left: list[str]
    open_routes: list[str]


def every_round(seed: int = SEED) -> list[Sequence[Fault]]:
    """Return the faults one after the other, and then four pairs."""
    return [*((fault,) for fault in single_faults()), *pairs_of_faults(seed)]


def run(rounds: Sequence[Sequence[Fault]]) -> Report:
    """Run a trial.

    Raises:
        ContainersError: something did not recover in time, or a fault could not be made.
    """
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        with installed(Path(folder)) as containers:
            built = time.monotonic()
            week = Week(containers, Path(folder) / "tables")
            week.start()
            week.send_week()
            wait_until_seen(containers)
            routes = open_routes(containers)
            week.finish(week.strike(rounds))
            seconds = time.monotonic() - built
        return Report(week.outcome, round(seconds, 1), round(built - began, 1), containers.left(), routes)
