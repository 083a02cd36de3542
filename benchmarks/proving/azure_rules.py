"""The rules of Azure's streaming-at-scale samples for a verified run, written from their description.

Duplicates: a fraction of 0. Records out of sequence: a fraction of 1.00 is allowed, so the rule convicts nobody.
Missing records: only within the middle 80 % of each device's sequence. Throughput: the best minute must reach the rate.
Latency: the best of the averages of the minutes must be below 15 s. Nothing is compared with what was sent, no fault
is injected, and only one output is read.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from statistics import fmean

from sluice.proof.journal import SendJournal
from sluice.proof.observations import ObservedRecords

_LATENCY_SECONDS, _MARGIN, _OUT_OF_SEQUENCE = 15.0, 0.1, 1.0


def broken_rules(journal: SendJournal, output: ObservedRecords, rate: float) -> frozenset[str]:
    """Return the rules that an output breaks.

    Args:
        journal: gives device (the key), sequence and creation of each record, which Azure's events carry themselves.
        output: that is verified.
        rate: records per second that the best minute must reach.
    """
    events = [(journal.by_id.get(seen.id), seen) for seen in output.records]
    known = [(sent, seen) for sent, seen in events if sent is not None]
    sequences: dict[str, list[int]] = defaultdict(list)
    waits: dict[int, list[float]] = defaultdict(list)
    for sent, seen in known:
        sequences[sent.key].append(sent.sequence)
        if seen.readable_at is not None:
            waits[int(sent.sent_at // 60)].append(seen.readable_at - sent.sent_at)
    out_of_sequence = sum(later < earlier for each in sequences.values() for earlier, later in pairwise(each))
    broken = {
        "duplicates": len(output.records) > len({seen.id for seen in output.records}),
        "out of sequence": out_of_sequence / max(1, len(known)) > _OUT_OF_SEQUENCE,
        "missing": any(_has_gaps(each) for each in sequences.values()),
        "throughput": max((len(each) for each in waits.values()), default=0) < rate * 60 * 0.9,
        "latency": min(fmean(each) for each in waits.values()) > _LATENCY_SECONDS if waits else True,
    }
    return frozenset(rule for rule, is_broken in broken.items() if is_broken)


def _has_gaps(sequences: list[int]) -> bool:
    """Whether numbers are missing, if the first and the last tenth do not count."""
    first, last = min(sequences), max(sequences)
    margin = int((last - first + 1) * _MARGIN)
    middle = range(first + margin, last + 1 - margin)
    return not set(middle) <= set(sequences)
