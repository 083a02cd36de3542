"""The simulation of a unit's life at length: fresh histories, every transition seen."""

from __future__ import annotations

from itertools import chain
from random import SystemRandom

import pytest

from tests.simulation.campaign import keep, kept_seeds, run

HISTORIES = 100_000
SECONDS = 300.0

pytestmark = pytest.mark.verify


@pytest.mark.timeout(3 * SECONDS)
def test_a_hundred_thousand_histories_in_five_minutes_see_every_transition(capsys: pytest.CaptureFixture[str]) -> None:
    first = SystemRandom().randrange(10**9)

    report = run(chain(kept_seeds(), range(first, first + HISTORIES)))

    keep(report)
    with capsys.disabled():
        print(f"\nSeeds from {first}: {report}")  # noqa: T201 - the report is what this is run for
    assert report.failed is None, report.story
    assert report.tally.missing() == []
    assert report.tally.unknown() == []
    assert report.seconds <= SECONDS
