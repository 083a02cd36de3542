"""The port to the control database, as far as streams need it: desired state, attempts, verdicts."""

from __future__ import annotations

from typing import Protocol

from sluice.streams.health.recording import VerdictRecords
from sluice.streams.life.attempts import AttemptRecords


class Registry(AttemptRecords, VerdictRecords, Protocol):
    """All of it in one. Every method may raise UnreachableError."""
