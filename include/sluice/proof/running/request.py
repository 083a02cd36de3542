"""What is asked of a proof, and what it has shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sluice.proof.journal import SendJournal
from sluice.proof.judgement import Proof
from sluice.proof.observations import NO_BOUNDS, LatencyBounds, Observations
from sluice.proof.running.faults import RequestedFault

Tell = Callable[[str], None]


@dataclass(frozen=True)
class ProofRequest:
    """What is to be proven, and how.

    Attributes:
        rate: records per second.
        seconds: how long at least; faults make it longer.
        faults: in their order.
        bounds: of latencies; they are of the raw table.
        keep: whether the folder stays whatever the verdict.
        patience_seconds: how long the tables are waited for at the end.
    """

    rate: float
    seconds: float
    faults: tuple[RequestedFault, ...] = ()
    bounds: LatencyBounds = NO_BOUNDS
    keep: bool = False
    patience_seconds: float = 180.0


@dataclass(frozen=True)
class ProvenRun:
    """A proof that has come to its end.

    Attributes:
        proof: the verdict.
        journal: what was sent.
        seen: what was observed.
        covered: the tables that it is about.
        uncovered: other outputs of the pipeline, which it says nothing about.
        beside: alerts of the deployment that came meanwhile and are about something else.
    """

    proof: Proof
    journal: SendJournal
    seen: Observations
    covered: tuple[str, ...]
    uncovered: tuple[str, ...]
    beside: tuple[str, ...] = ()
