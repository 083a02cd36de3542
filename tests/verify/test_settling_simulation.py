"""The simulation of settling at length: fresh histories, everything seen that can happen."""

from __future__ import annotations

from itertools import chain
from random import SystemRandom

import pytest

from tests.simulation.campaign import keep, kept_seeds, run
from tests.simulation.settling.scenario import SEEN, SETTLING

HISTORIES = 10_000

pytestmark = pytest.mark.verify


@pytest.mark.timeout(3_600)
def test_ten_thousand_histories_of_a_settled_table(capsys: pytest.CaptureFixture[str]) -> None:
    first = SystemRandom().randrange(10**9)

    report = run(chain(kept_seeds(SETTLING.seeds), range(first, first + HISTORIES)), scenario=SETTLING)

    keep(report, SETTLING.seeds)
    with capsys.disabled():
        print(f"\nSeeds from {first}: {report.histories:,} histories, {report.seconds:.0f} s of one core")  # noqa: T201
    assert report.failed is None, report.story
    assert [what for what in SEEN if not report.tally[what]] == []
