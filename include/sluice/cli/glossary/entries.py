"""The glossary: every term of the design and every value of an answer, with its meaning and advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from sluice.alerts.delivery import DeliveryOutcome
from sluice.cli.glossary.terms import TERMS
from sluice.errors import exit_codes
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.convictions import Conviction
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.raw_parity import RawFaultKind
from sluice.intervals.ledger import State
from sluice.objectives.log import Minute
from sluice.proof.findings import ProofFault, ProofVerdict
from sluice.proof.journal import SendOutcome
from sluice.provisioning.plans.changes import Risk
from sluice.quality.cases import CaseState
from sluice.quality.reasons import Outcome, Reason
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.lanes import Lane
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.tracing.intervals import Part
from sluice.tracing.storage import StorageState
from sluice.wording import ExplainedEnum

_ENUMS: Mapping[str, type[ExplainedEnum]] = {
    "verdicts of a stream": Health,
    "ends of a driver": FailureClass,
    "states of an interval": State,
    "states of a backfill": BackfillState,
    "results of a comparison": ParityOutcome,
    "faults of a raw table": RawFaultKind,
    "faults of a transform that a comparison names": Conviction,
    "outcomes of a record": Outcome,
    "reasons of the quarantine": Reason,
    "minutes of an output with an objective": Minute,
    "states of a case": CaseState,
    "storage of a traced record": StorageState,
    "parts of a traced record in an interval": Part,
    "risks of a plan": Risk,
    "classes of an alert": AlertClass,
    "deliveries of an alert": DeliveryOutcome,
    "lanes of a pipeline": Lane,
    "results of a proof": ProofVerdict,
    "findings of a proof": ProofFault,
    "outcomes of a sending in a proof": SendOutcome,
}


@dataclass(frozen=True)
class GlossaryEntry:
    """One entry.

    Attributes:
        kind: the group that it belongs to, in the plural.
        term: as it is written there.
        meaning: in one clause.
        what_to_do: in one clause; empty if there is nothing to do.
    """

    kind: str
    term: str
    meaning: str
    what_to_do: str = ""


@cache
def entries() -> tuple[GlossaryEntry, ...]:
    """Return all entries, by kind."""
    return tuple(_all())


def find(term: str) -> list[GlossaryEntry]:
    """Return the entries of a term, in any spelling; without one, those that begin with it."""
    wanted = _plain(term)
    exact = [entry for entry in entries() if _plain(entry.term) == wanted]
    return exact or [entry for entry in entries() if wanted and _plain(entry.term).startswith(wanted)]


def _plain(text: str) -> str:
    return text.strip().lower().replace("_", " ").replace("-", " ")


def _all() -> Iterator[GlossaryEntry]:
    for term, texts in TERMS.items():
        yield GlossaryEntry("terms of the design", term, *texts)
    for kind, enum in _ENUMS.items():
        for member in enum:
            yield GlossaryEntry(kind, member.value, member.meaning, member.what_to_do)
    for code, texts in exit_codes().items():
        yield GlossaryEntry("exit codes of a command", str(code), *texts)
