"""The checker: from a journal and what was seen to findings and a verdict. It asks nothing but its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sluice.proof.findings import ProofFault, ProofFinding, ProofVerdict, concluded, of_cases
from sluice.proof.journal import SendJournal
from sluice.proof.latency import ProofLatencies, check_latencies, latencies
from sluice.proof.observations import Observations
from sluice.proof.records import check_conservation, check_latest, check_records
from sluice.proof.rows import check_rows
from sluice.proof.surroundings import check_alerts, check_faults, check_intervals, check_judged, check_looks


@dataclass(frozen=True)
class Proof:
    """What a proof has shown.

    Attributes:
        verdict: the conclusion.
        findings: why it is not PROVEN.
        latencies: of each output that says when its records could be read.
    """

    verdict: ProofVerdict
    findings: tuple[ProofFinding, ...]
    latencies: Mapping[str, ProofLatencies]


def judge(journal: SendJournal, seen: Observations) -> Proof:
    """Return what a journal and observations prove.

    Acknowledged records must be in every output once, failed ones in none, unknown ones at most once, and nothing else
    may be there. What could not be seen makes a proof inconclusive, never proven.
    """
    timed = {output.name: latencies(journal.of(output.topic), output) for output in seen.outputs}
    findings = (*_about_the_journal(journal, seen), *_about_outputs(journal, seen, timed), *_beside(journal, seen))
    known = {name: found for name, found in timed.items() if found is not None}
    return Proof(concluded(findings), findings, known)


def _about_the_journal(journal: SendJournal, seen: Observations) -> Iterator[ProofFinding]:
    yield from of_cases(ProofFault.JOURNAL, "journal", [(fault, "") for fault in journal.faults()])
    if not journal.acknowledged:
        yield ProofFinding(ProofFault.NOTHING_SENT, "journal", len(journal), "none")
    if not (seen.outputs or seen.latest or seen.rows):
        yield ProofFinding(ProofFault.NOT_READ, "outputs", 1, "none was read")


def _about_outputs(
    journal: SendJournal, seen: Observations, timed: Mapping[str, ProofLatencies | None]
) -> Iterator[ProofFinding]:
    for output in seen.outputs:
        yield from check_records(journal.of(output.topic), output)
        yield from check_conservation(output, seen.ends.get(output.topic, {}))
        yield from check_latencies(output, timed[output.name], seen.bounds)
    for latest in seen.latest:
        yield from check_latest(journal, latest)
    for rows in seen.rows:
        yield from check_rows(rows)


def _beside(journal: SendJournal, seen: Observations) -> Iterator[ProofFinding]:
    yield from check_judged(journal, seen.judged)
    yield from check_intervals(seen.intervals, seen.interval_tables)
    yield from check_looks(journal, seen)
    yield from check_faults(journal, seen)
    yield from check_alerts(seen)
