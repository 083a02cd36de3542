"""How long records took from their sending until they could be read: the worst minute, and the slowest thousandth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from sluice.proof.findings import ProofFault, ProofFinding
from sluice.proof.journal import SendJournal
from sluice.proof.observations import LatencyBounds, ObservedKind, ObservedRecords

_MINUTE = 60.0


@dataclass(frozen=True)
class ProofLatencies:
    """Latencies of one output in seconds; every minute counts, and so do those of faults.

    Attributes:
        records: how many could be timed.
        worst_minute: the greatest average of the records sent in one minute.
        p999: the 99.9th percentile: so long or less took all but one of a thousand.
        slowest: the id of the slowest record.
    """

    records: int
    worst_minute: float
    p999: float
    slowest: str


def latencies(journal: SendJournal, output: ObservedRecords) -> ProofLatencies | None:
    """Return the latencies of the acknowledged records of an output, of each its first appearance.

    Returns:
        None where no record says when it could be read.
    """
    waits: dict[str, float] = {}
    for record in output.records:
        sent = journal.by_id.get(record.id)
        if sent is not None and record.readable_at is not None:
            wait = record.readable_at - sent.sent_at
            waits[record.id] = min(wait, waits.get(record.id, wait))
    if not waits:
        return None
    minutes: dict[int, list[float]] = defaultdict(list)
    begin = min(journal.by_id[identity].sent_at for identity in waits)
    for identity, wait in waits.items():
        minutes[int((journal.by_id[identity].sent_at - begin) // _MINUTE)].append(wait)
    ascending = sorted(waits.values())
    return ProofLatencies(
        records=len(waits),
        worst_minute=max(fmean(minute) for minute in minutes.values()),
        p999=ascending[ceil(0.999 * len(ascending)) - 1],
        slowest=max(waits, key=lambda identity: waits[identity]),
    )


def check_latencies(
    output: ObservedRecords, found: ProofLatencies | None, bounds: LatencyBounds
) -> Iterator[ProofFinding]:
    """Yield which bounds were broken. Where the raw records have no times and there are bounds, nobody knows.

    Another output, such as dead letters, need not say when its records were readable.
    """
    promised = {"worst minute": bounds.worst_minute, "99.9th percentile": bounds.p999}
    if found is None:
        is_due = output.kind is ObservedKind.RAW and bool(output.records)
        if is_due and any(bound is not None for bound in promised.values()):
            yield ProofFinding(ProofFault.NOT_READ, output.name, 1, output.name, "no record says when it was readable")
        return
    for (name, bound), seconds in zip(promised.items(), (found.worst_minute, found.p999), strict=True):
        if bound is not None and seconds > bound:
            detail = f"{name} {seconds:.3f} s, promised {bound:.3f} s"
            yield ProofFinding(ProofFault.SLOW, output.name, found.records, found.slowest, detail)
