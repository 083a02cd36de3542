"""The port to the control database, as far as streams need it: desired state, attempts, verdicts."""

from __future__ import annotations

from typing import Protocol

from sluice.streams.desired_copy import DesiredRecords
from sluice.streams.health.recording import VerdictRecords
from sluice.streams.life.attempts import AttemptRecords


class Registry(AttemptRecords, DesiredRecords, VerdictRecords, Protocol):
    """All of it in one. Every method may raise UnreachableError."""
