"""How the claim of a unit's driver ended, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sluice.errors import NotReadyError, SluiceError, UnreachableError
from sluice.streams.failures.capacity import ADVICE, NoCapacity
from sluice.streams.life.attempts import Attempt, AttemptState
from sluice.streams.life.claim import Adopt
from sluice.streams.life.claimed import Claim


def attempt_of(unit: str, claim: Claim) -> Attempt:
    """Return the attempt that a claim came to.

    Raises:
        NotReadyError: there is no capacity for it.
        UnreachableError: it is unknown whether a driver lives.
    """
    if isinstance(claim.decision, NoCapacity):
        raise NotReadyError(f"{unit} was not started: {claim.why}. The request is recorded.", fix=f"{ADVICE}.")
    if claim.attempt is None:
        raise UnreachableError(
            f"{unit} was not started: {claim.why}. The request is recorded.",
            fix="wait for the reconciler, which starts it as soon as that is known; or repeat the command.",
        )
    return claim.attempt


def claim_as_dict(unit: str, claim: Claim) -> dict[str, Any]:
    """Return a claim as JSON values; see `attempt_of`."""
    attempt = attempt_of(unit, claim)
    return {"unit": unit, "decision": type(claim.decision).__name__.lower(), "attempt": asdict(attempt)}


def claim_in_words(unit: str, claim: Claim) -> str:
    """Return what came of a claim in one sentence; see `attempt_of`."""
    if isinstance(claim.decision, Adopt):
        return f"{unit}: nothing was started: {claim.why}."
    return f"{unit}: started, as generation {attempt_of(unit, claim).generation} ({claim.why})."


def refuse_ended(unit: str, claim: Claim) -> None:
    """Make sure that the driver did not end at once.

    Raises:
        SluiceError: it did.
    """
    attempt = attempt_of(unit, claim)
    if attempt.state is AttemptState.ENDED:
        raise SluiceError(
            f"generation {attempt.generation} of {unit} {attempt.reason}.", fix=f"run `sluice streams logs {unit}`."
        )
