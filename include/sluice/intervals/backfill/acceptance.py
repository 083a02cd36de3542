"""Publishing all the same what a quality gate has stopped: the same request again, on a user's word."""

from __future__ import annotations

from dataclasses import replace

from sluice.errors import RefusedError, SpecError
from sluice.intervals.backfill.backfills import Backfill
from sluice.intervals.backfill.request import Request

GATE_FAILED = "gate_failed"
"""The outcome of a backfill whose rows were not published because the gate stopped them."""


def accepting(failed: Backfill, by: str, why: str) -> Request:
    """Return the request that accepts what the gate of a backfill had found, and nothing else.

    Args:
        failed: the backfill.
        by: who accepts it.
        why: the reason on record.

    Raises:
        RefusedError: no gate has stopped it.
        SpecError: there is no reason.
    """
    if failed.outcome != GATE_FAILED:
        ended = failed.outcome or failed.state
        raise RefusedError(
            f"the backfill {failed.id} was not stopped by its quality gate ({ended}): there is nothing to accept.",
            fix="see `sluice backfill list`.",
        )
    if not why.strip():
        raise SpecError(
            f"what the gate of {failed.id} has found is only accepted with a reason.", fix="say why; it is recorded."
        )
    return replace(failed.request, by=by, why=why.strip(), accepts=failed.id)
