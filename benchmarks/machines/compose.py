"""The containers under faults: what is lost and doubled of the flights, and which ports are open to everybody.

The trial is that of `tests/verify/test_compose.py`: a week of flights through Airflow, then processes of brokers, a
worker, the master, the runner, PostgreSQL and the API die, one broker stands still and one has no network, alone and in
four pairs, while more flights come. Tables are compared with `tests.oracle`.
"""

from __future__ import annotations

from typing import Any

from benchmarks.trials import TrialError
from tests.compose.containers import missing
from tests.compose.faults import single_faults
from tests.compose.trial import every_round
from tests.compose.trial import run as run_trial


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what was lost and doubled, and what is open; `small` has two faults.

    Raises:
        TrialError: this machine has no Docker.
    """
    if lacking := missing():
        raise TrialError(lacking)
    rounds = every_round() if size == "full" else [(fault,) for fault in single_faults()[:2]]
    report = run_trial(rounds)
    outcome = report.outcome
    figures = {
        "faults": len(outcome.proofs),
        "lost": outcome.lost,
        "twice": outcome.twice,
        "wrong_rows": len(outcome.differences),
        "open_routes": len(report.open_routes),
        "left_behind": len(report.left),
        "flights": outcome.flights,
        "seconds": report.seconds,
    }
    notes = {
        "size": size,
        "build_seconds": report.built,
        "parts": outcome.seconds,
        "recovered": outcome.recovered,
        "proofs": outcome.proofs,
        "open": report.open_routes,
        "interrupted_feeds": outcome.interrupted,
    }
    return figures, notes
