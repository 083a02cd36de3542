"""What was seen beside the outputs' final content: readers while faults came, the faults, intervals and alerts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sluice.proof.findings import ProofFault, ProofFinding, of_cases
from sluice.proof.journal import SendJournal
from sluice.proof.observations import ComparedInterval, JudgedRecord, Observations, ObservedRecords, ReaderLook

_BY_EXPECTATION = "unexpected"


def check_looks(journal: SendJournal, seen: Observations) -> Iterator[ProofFinding]:
    """Yield what readers saw that they must not see: records that go, repetitions, and an old state."""
    by_output: dict[str, list[ReaderLook]] = defaultdict(list)
    for look in seen.looks:
        by_output[look.output].append(look)
    final = {output.name: output for output in seen.outputs}
    for name, looks in sorted(by_output.items()):
        output = final.get(name)
        ends = [frozenset(record.id for record in output.records)] if output and output.is_complete else []
        yield from of_cases(ProofFault.WENT_BACK, name, _gone(looks, ends))
        repeated = [(f"{look.at:.1f}", f"{look.twice} records") for look in looks if look.twice]
        yield from of_cases(ProofFault.SEEN_TWICE, name, repeated)
        if output is not None and seen.bounds.fresh is not None:
            yield from of_cases(
                ProofFault.STALE_READER, name, _stale(journal.of(output.topic), output, looks, seen.bounds.fresh)
            )


def check_faults(journal: SendJournal, seen: Observations) -> Iterator[ProofFinding]:
    """Yield which faults prove nothing, or were not survived."""
    if seen.ended:
        yield ProofFinding(ProofFault.DRIVER_ENDED, "driver", 1, seen.ended)
    times = [record.sent_at for record in journal.acknowledged]
    for fault in seen.faults:
        if not fault.evidence:
            yield ProofFinding(ProofFault.NOT_FIRED, fault.name, 1, fault.name)
        elif not times or not min(times) < fault.at < max(times):
            yield ProofFinding(ProofFault.NOT_CROSSED, fault.name, 1, f"{fault.at:.1f}")
        if fault.healed is False:
            yield ProofFinding(ProofFault.NOT_HEALED, fault.name, 1, fault.name)


def check_intervals(intervals: tuple[ComparedInterval, ...], tables: frozenset[str]) -> Iterator[ProofFinding]:
    """Yield which intervals differ, and which nobody compared."""
    by_table: dict[str, list[ComparedInterval]] = {table: [] for table in tables}
    for interval in intervals:
        by_table.setdefault(interval.table, []).append(interval)
    for table, found in sorted(by_table.items()):
        differing = [(interval.start, interval.why) for interval in found if interval.is_equal is False]
        unseen = [(interval.start, interval.why) for interval in found if interval.is_equal is None]
        yield from of_cases(ProofFault.INTERVAL_DIFFERS, table, differing)
        yield from of_cases(ProofFault.NOT_COMPARED, table, unseen if found else [(table, "it has no interval")])


def check_judged(journal: SendJournal, judged: tuple[JudgedRecord, ...] | None) -> Iterator[ProofFinding]:
    """Yield which acknowledged records validation does not take for what they were made to be.

    What an expectation on records refuses may be good by all that the topic declares.
    """
    if judged is None:
        return
    found = {(each.topic, each.position): each for each in judged}
    cases: list[tuple[str, str]] = []
    for sent in journal.acknowledged:
        one = None if sent.position is None else found.get((sent.topic, sent.position))
        if one is None or one.reason == _BY_EXPECTATION:
            continue
        if one.outcome != sent.fate or (sent.reason and one.reason != sent.reason):
            cases.append(
                (sent.id, f"it is {_words(one.outcome, one.reason)}, and was made {_words(sent.fate, sent.reason)}")
            )
    yield from of_cases(ProofFault.MISJUDGED, "validation", cases)


def _words(outcome: str, reason: str) -> str:
    return f"{outcome} ({reason})" if reason else outcome


def check_alerts(seen: Observations) -> Iterator[ProofFinding]:
    """Yield which alerts did not come, and which should not have."""
    for fault, names in (
        (ProofFault.ALERT_MISSING, seen.expected_alerts - seen.alerts),
        (ProofFault.FALSE_ALERT, seen.alerts - seen.expected_alerts),
    ):
        yield from of_cases(fault, "alerts", [(name, "") for name in sorted(names)])


def _gone(looks: list[ReaderLook], ends: list[frozenset[str]]) -> list[tuple[str, str]]:
    cases: list[tuple[str, str]] = []
    before: frozenset[str] = frozenset()
    for ids, when in [*((look.ids, f"{look.at:.1f}") for look in looks), *((ids, "the end") for ids in ends)]:
        cases += [(identity, f"gone at {when}") for identity in sorted(before - ids)]
        before = ids
    return cases


def _stale(
    journal: SendJournal, output: ObservedRecords, looks: list[ReaderLook], fresh: float
) -> list[tuple[str, str]]:
    """Return for each look the first record that it lacks although it was acknowledged long before."""
    due = [sent for sent in journal.acknowledged if output.expected is None or sent.id in output.expected]
    cases: list[tuple[str, str]] = []
    for look in looks:
        lacking = next((sent for sent in due if sent.sent_at + fresh < look.at and sent.id not in look.ids), None)
        if lacking is not None:
            cases.append((lacking.id, f"not seen {look.at - lacking.sent_at:.1f} s after its sending"))
    return cases
