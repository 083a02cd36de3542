"""What became of a claim."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.streams.failures.capacity import NoCapacity
from sluice.streams.life.attempts import Attempt
from sluice.streams.life.claim import Decision
from sluice.streams.life.governor import Halt, Hold, Rest


@dataclass(frozen=True)
class Claim:
    """The outcome of a claim: an attempt to submit or to watch, or the reason why there is none.

    Attributes:
        decision: Adopt or Resume (with an attempt); Wait, Refuse, NoCapacity, or what the governor says (without).
        attempt: hand it to `UnitLife.submit`, which changes nothing if its driver lives.
    """

    decision: Decision | NoCapacity | Hold | Halt | Rest
    attempt: Attempt | None = None

    @property
    def why(self) -> str:
        """The reason, as a clause."""
        return self.decision.why
