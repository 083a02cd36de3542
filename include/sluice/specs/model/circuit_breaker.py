"""When so much of a batch is quarantined that the stream stops, as a spec says it."""

from __future__ import annotations

from pydantic import Field

from sluice.specs.model.spec import Spec


class CircuitBreaker(Spec):
    """More than `share` of a batch with at least `records` records."""

    share: float = Field(gt=0, lt=1)
    """A batch of which a greater share is quarantined is not committed, and its stream stops."""
    records: int = Field(default=100, ge=1)
    """Batches with fewer records are never judged: one bad record of two is no drift."""
