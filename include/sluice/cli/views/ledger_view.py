"""The ledger of a pipeline from its log, or from the index if the log cannot be read."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.errors import SluiceError
from sluice.intervals.ledger import Ledger
from sluice.project.project import Project


@dataclass(frozen=True)
class LedgerReading:
    """A pipeline's ledger and its source.

    Attributes:
        ledger: the intervals.
        note: for people, if log or index could not be used; else empty.
        error: why the log could not be read; then the ledger comes from the index.
    """

    ledger: Ledger
    note: str = ""
    error: SluiceError | None = None


def read_ledger(project: Project, pipeline: str) -> LedgerReading:
    """Refresh the index and return the ledger.

    Raises:
        SluiceError: neither the log nor the index can be read.
    """
    try:
        return LedgerReading(project.index().refresh(pipeline).ledger)
    except SluiceError as failed:
        not_refreshed = failed
    try:
        truth = project.ledger(pipeline)
    except SluiceError as unreadable:
        known = project.index().ledger(pipeline)
        note = f"the log cannot be read; this is the index of {pipeline} at table version {known.version}: "
        return LedgerReading(known, f"{note}{unreadable}", unreadable)
    return LedgerReading(truth, f"read from the log only; the index of {pipeline} was not refreshed: {not_refreshed}")
