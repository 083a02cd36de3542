"""What a proof can find, and what it concludes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.wording import ExplainedEnum, counted


class ProofVerdict(ExplainedEnum):
    """What a proof concludes."""

    PROVEN = "proven", "what was sent is in every output as promised, and every requested fault struck"
    BROKEN = "broken", "an output breaks a promise", "read the findings: each names an output and an example"
    INCONCLUSIVE = (
        "inconclusive",
        "nothing broken was found, and not everything could be seen, which does not count as a pass",
        "read the findings: each says what was not seen; then repeat the proof",
    )


_STREAM = "keep the folder of the proof, and look for the example in the driver's log and in the table's commits"
_PRODUCER = "look at the producers of the proof first: their journal contradicts the topic"


class ProofFault(ExplainedEnum):
    """What is wrong with an output, or with what was seen of it."""

    LOST = "lost", "acknowledged records are not in the output", _STREAM
    LOST_HEAD = "lost_head", "the first acknowledged records of a partition are not in the output", _STREAM
    LOST_TAIL = "lost_tail", "the last acknowledged records of a partition are not in the output", _STREAM
    TWICE = "twice", "records are in the output more than once", _STREAM
    PHANTOM = "phantom", "the output has records that nobody sent, or that do not belong there", _STREAM
    FAILED_SEEN = "failed_seen", "the output has records whose sending failed for good", _PRODUCER
    ALTERED = "altered", "records are in the output with other content than was sent", _STREAM
    MOVED = "moved", "records are in the output with another position than the broker acknowledged", _STREAM
    REORDERED = "reordered", "records of a key come out in another order than they were sent in", _STREAM
    GAP = "gap", "offsets of the topic are missing in the output", _STREAM
    STALE = "stale", "the output shows an older record of a key than its newest", _STREAM
    MISJUDGED = (
        "misjudged",
        "validation judged records differently from how they were made: good, late or broken",
        "compare the record with the topic's spec: `sluice run` on it names the rule",
    )
    ROW_DIFFERS = (
        "row_differs",
        "a key has another row than its records give",
        "compare the row with its records; a clock, a random number or a lost state in the transform is usual",
    )
    INTERVAL_DIFFERS = (
        "interval_differs",
        "an interval has other rows than its records give",
        "read the report of the comparison; a clock, a random number or a changing input in the transform is usual",
    )
    WENT_BACK = "went_back", "a reader saw records that it did not see later", _STREAM
    SEEN_TWICE = "seen_twice", "a reader saw records twice while faults came", _STREAM
    STALE_READER = "stale_reader", "a reader did not see what had been acknowledged long before", _STREAM
    SLOW = "slow", "records took longer than was promised", "compare the rate with the resources of the driver"
    NOT_HEALED = "not_healed", "the pipeline was not at work again after a fault", _STREAM
    DRIVER_ENDED = (
        "driver_ended",
        "the driver ended though nobody had asked it to, after it was at work",
        "read its log, which the finding names",
    )
    ALERT_MISSING = "alert_missing", "a fault raised no alert", "read include/alerts, and `sluice alerts open`"
    FALSE_ALERT = "false_alert", "an alert came that no fault explains", "`sluice alerts show` says what it saw"
    NOT_FIRED = "not_fired", "nothing shows that a requested fault struck", "repeat the proof"
    NOT_CROSSED = "not_crossed", "no acknowledged record was sent before and after a fault", "send for longer"
    NOT_READ = "not_read", "an output was not read to its end", "look why it could not be read; repeat the proof"
    NOT_COMPARED = "not_compared", "intervals were not compared", "read why; send more, or wait for longer"
    NOTHING_SENT = "nothing_sent", "no record was acknowledged", "look at the producers' errors"
    JOURNAL = "journal", "the journal of what was sent contradicts itself", "repeat the proof; keep the folder"


BLIND = frozenset(
    {
        *(ProofFault.NOT_FIRED, ProofFault.NOT_CROSSED, ProofFault.NOT_READ, ProofFault.NOT_COMPARED),
        *(ProofFault.NOTHING_SENT, ProofFault.JOURNAL),
    }
)
"""What says that something was not seen; all others say that something is wrong."""


@dataclass(frozen=True)
class ProofFinding:
    """One finding.

    Attributes:
        fault: what it is.
        where: the output, or what else is concerned.
        count: how many records, intervals or looks.
        example: one of them.
        detail: what was found of the example; may be empty.
    """

    fault: ProofFault
    where: str
    count: int
    example: str
    detail: str = ""

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.where}: {self.fault.meaning} ({counted(self.count, 'case')}, such as {self.example}{detail})"


def of_cases(fault: ProofFault, where: str, cases: Sequence[tuple[str, str]]) -> Iterator[ProofFinding]:
    """Yield one finding for all cases (example, detail) of a fault; nothing if there are none."""
    if cases:
        yield ProofFinding(fault, where, len(cases), *cases[0])


def concluded(findings: Sequence[ProofFinding]) -> ProofVerdict:
    """Return the verdict: what is wrong outweighs what was not seen."""
    if any(finding.fault not in BLIND for finding in findings):
        return ProofVerdict.BROKEN
    return ProofVerdict.INCONCLUSIVE if findings else ProofVerdict.PROVEN
