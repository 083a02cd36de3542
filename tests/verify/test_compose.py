"""The containers, for real: a week of flights through Airflow, and what survives when machines and the network die."""

from __future__ import annotations

import pytest

from tests.compose.containers import missing
from tests.compose.trial import SEED, Report, every_round, run

LIMIT_SECONDS = 30 * 60

pytestmark = [pytest.mark.verify, pytest.mark.timeout(4_500)]


@pytest.fixture(scope="module")
def report() -> Report:
    if lacking := missing():
        pytest.fail(lacking, pytrace=False)
    return run(every_round(SEED))


def test_nothing_is_lost_or_doubled_whatever_dies(report: Report) -> None:
    outcome = report.outcome
    assert (outcome.lost, outcome.twice, outcome.differences) == (0, 0, [])
    assert outcome.flights > 6_099, "flights came while machines died"


def test_every_fault_has_happened_and_passed(report: Report) -> None:
    faults = [fault for each in every_round(SEED) for fault in each]
    assert len(report.outcome.proofs) == len(faults) >= 12
    assert len(report.outcome.recovered) == len(every_round(SEED))


def test_no_port_says_anything_to_somebody_without_a_login_or_in_plain_text(report: Report) -> None:
    assert report.open_routes == []


def test_nothing_is_left_behind_and_it_all_takes_half_an_hour(report: Report) -> None:
    assert report.left == []
    assert report.seconds <= LIMIT_SECONDS
