"""The ledger as a command sees it: the truth if it can be read, else what the index last knew, and which of the two."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.errors import SluiceError
from sluice.intervals.ledger import Ledger
from sluice.project.project import Project


@dataclass(frozen=True)
class LedgerLook:
    """A pipeline's ledger, and how far it can be trusted.

    Attributes:
        ledger: what is known.
        note: for people, if it does not come from log and index alike; empty if it does.
        error: why the log could not be read; then the ledger is the one that the index last knew.
    """

    ledger: Ledger
    note: str = ""
    error: SluiceError | None = None


def look(project: Project, pipeline: str) -> LedgerLook:
    """Refresh the index and return the ledger.

    Raises:
        SluiceError: neither the log nor the index can be read.
    """
    try:
        return LedgerLook(project.tables.index().refresh(pipeline).ledger)
    except SluiceError as failed:
        not_refreshed = failed
    try:
        truth = project.tables.ledger(pipeline)
    except SluiceError as unreadable:
        known = project.tables.index().ledger(pipeline)
        note = f"the log cannot be read; this is what the index knew of {pipeline} at table version {known.version}: "
        return LedgerLook(known, f"{note}{unreadable}", unreadable)
    return LedgerLook(truth, f"read from the log alone; the index of {pipeline} was not refreshed: {not_refreshed}")
