"""What a gate has stopped is published only on somebody's word, with a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sluice.errors import RefusedError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.acceptance import GATE_FAILED, accepting
from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.intervals.backfill.request import Mode, Only, Request
from tests.suites.quality_results_suite import HOUR
from tests.twins.clock import START

ASKED = Request("sales", Interval(START, START + HOUR), Mode.RECOMPUTE, "ann", "new code", Only.STALE)
FAILED = Backfill("sales-1", "k", ASKED, BackfillState.FAILED, START, outcome=GATE_FAILED)


def test_the_same_request_is_made_again_by_whoever_accepts_it() -> None:
    assert accepting(FAILED, "bob", " it was a holiday ") == replace(
        ASKED, by="bob", why="it was a holiday", accepts="sales-1"
    )


@pytest.mark.parametrize("why", ["", "  "])
def test_there_must_be_a_reason(why: str) -> None:
    with pytest.raises(SpecError, match="only accepted with a reason"):
        accepting(FAILED, "bob", why)


@pytest.mark.parametrize("outcome", ["", "failed", "identical", "recomputed"])
def test_only_what_a_gate_has_stopped_can_be_accepted(outcome: str) -> None:
    with pytest.raises(RefusedError, match="was not stopped by its quality gate"):
        accepting(replace(FAILED, outcome=outcome), "bob", "why not")
