"""The port to the control database, as far as streams need it: desired state, attempts, verdicts, deadlines."""

from __future__ import annotations

from typing import Protocol

from sluice.streams.attempts import AttemptRecords
from sluice.streams.deadline_record import DeadlineRecords
from sluice.streams.verdict_records import VerdictRecords


class Registry(AttemptRecords, VerdictRecords, DeadlineRecords, Protocol):
    """All of it in one. Every method may raise UnreachableError."""
