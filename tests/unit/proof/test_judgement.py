"""What was not seen makes a proof inconclusive, what is wrong breaks it, and both together break it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.proving.pipeline import ModelPipeline
from benchmarks.proving.world import Load, World
from sluice.proof.findings import BLIND, ProofFault, ProofVerdict
from sluice.proof.journal import SendJournal, SendOutcome
from sluice.proof.judgement import Proof, judge
from sluice.proof.latency import latencies
from sluice.proof.observations import (
    ComparedInterval,
    LatencyBounds,
    Observations,
    ObservedKind,
    ObservedRecord,
    ObservedRecords,
    ReaderLook,
)

WORLD = World(Load(seed=3))
SOUND = ModelPipeline(WORLD).run()
(FAULT,) = SOUND.faults


def judged(seen: Observations, journal: SendJournal = WORLD.journal) -> tuple[ProofVerdict, set[ProofFault]]:
    proof: Proof = judge(journal, seen)
    return proof.verdict, {finding.fault for finding in proof.findings}


@pytest.mark.parametrize(
    ("seen", "fault"),
    [
        (replace(SOUND, faults=(replace(FAULT, evidence=""),)), ProofFault.NOT_FIRED),
        (replace(SOUND, faults=(replace(FAULT, at=1e9),)), ProofFault.NOT_CROSSED),
        (replace(SOUND, faults=(replace(FAULT, at=-1.0),)), ProofFault.NOT_CROSSED),
        (replace(SOUND, interval_tables=SOUND.interval_tables | {"days"}), ProofFault.NOT_COMPARED),
        (replace(SOUND, intervals=(ComparedInterval("hours", "0", None, "dirty"),)), ProofFault.NOT_COMPARED),
        (
            replace(SOUND, outputs=(*SOUND.outputs[1:], replace(SOUND.outputs[0], is_complete=False))),
            ProofFault.NOT_READ,
        ),
        (replace(SOUND, outputs=(), latest=(), looks=()), ProofFault.NOT_READ),
    ],
)
def test_what_was_not_seen_is_inconclusive(seen: Observations, fault: ProofFault) -> None:
    assert judged(seen) == (ProofVerdict.INCONCLUSIVE, {fault})
    assert fault in BLIND


def test_what_is_wrong_outweighs_what_was_not_seen() -> None:
    seen = replace(SOUND, faults=(replace(FAULT, evidence="", healed=False),))
    assert judged(seen) == (ProofVerdict.BROKEN, {ProofFault.NOT_FIRED, ProofFault.NOT_HEALED})


def test_a_proof_without_acknowledged_records_proves_nothing() -> None:
    verdict, faults = judged(Observations(outputs=(ObservedRecords("rows", ObservedKind.ROWS, ()),)), SendJournal(()))
    assert (verdict, faults) == (ProofVerdict.INCONCLUSIVE, {ProofFault.NOTHING_SENT})


def test_a_journal_that_contradicts_itself_proves_nothing() -> None:
    records = WORLD.journal.records
    assert list(SendJournal(records).faults()) == []
    second = next(n for n, sent in enumerate(records) if sent.sequence == 1)
    for wrong in (
        (*records[:second], *records[second + 1 :]),
        (*records, records[-1]),
        (replace(records[0], producer="another"), *records[1:]),
        tuple(replace(sent, position=None) for sent in records),
    ):
        verdict, faults = judged(SOUND, SendJournal(wrong))
        assert ProofFault.JOURNAL in faults
        assert verdict is not ProofVerdict.PROVEN


def timed(*waits: float) -> tuple[SendJournal, ObservedRecords]:
    """Return one record per second, and an output in which each took so long."""
    sent = [replace(WORLD.journal.records[0], id=str(n), sent_at=float(n)) for n in range(len(waits))]
    seen = tuple(ObservedRecord(str(n), "", readable_at=n + wait) for n, wait in enumerate(waits))
    return SendJournal(tuple(sent)), ObservedRecords("raw", ObservedKind.RAW, seen)


def test_the_worst_minute_counts_and_one_of_a_thousand_may_be_slower() -> None:
    found = latencies(*timed(*[1.0] * 60, *[5.0] * 60, *[2.0] * 60))
    assert found is not None
    assert (found.records, found.worst_minute, found.p999) == (180, 5.0, 5.0)
    at_most = latencies(*timed(*[1.0] * 999, 90.0))
    assert at_most is not None
    assert (at_most.p999, at_most.slowest) == (1.0, "999")
    too_many = latencies(*timed(*[1.0] * 998, 90.0, 90.0))
    assert too_many is not None
    assert too_many.p999 == 90.0


def test_bounds_are_promises_and_need_times() -> None:
    slow = replace(SOUND, bounds=LatencyBounds(worst_minute=0.1))
    assert judged(slow) == (ProofVerdict.BROKEN, {ProofFault.SLOW})
    assert judged(replace(SOUND, bounds=LatencyBounds(p999=0.1)))[1] == {ProofFault.SLOW}
    raw = SOUND.outputs[0]
    untimed = replace(raw, records=tuple(replace(each, readable_at=None) for each in raw.records))
    assert judged(replace(SOUND, outputs=(untimed,), looks=())) == (ProofVerdict.INCONCLUSIVE, {ProofFault.NOT_READ})
    letters = replace(untimed, name="dead letters", kind=ObservedKind.TOPIC)
    bounds = LatencyBounds(worst_minute=1e6, p999=1e6)
    assert judged(replace(SOUND, outputs=(*SOUND.outputs, letters), bounds=bounds)) == (ProofVerdict.PROVEN, set())
    without = replace(SOUND, outputs=(untimed,), looks=(), bounds=LatencyBounds())
    assert judged(without) == (ProofVerdict.PROVEN, set())


def test_a_reader_sees_no_row_twice_and_none_that_goes() -> None:
    ids = frozenset({SOUND.outputs[1].records[0].id})
    twice = ReaderLook("rows", 0.0, ids, twice=1)
    assert judged(replace(SOUND, looks=(twice,)))[1] == {ProofFault.SEEN_TWICE}
    gone = ReaderLook("rows", 0.0, frozenset({"taken back"}))
    assert judged(replace(SOUND, looks=(gone,)))[1] == {ProofFault.WENT_BACK}


def test_an_unknown_record_may_be_there_or_not() -> None:
    raw = SOUND.outputs[0]
    unknown = next(seen for seen in raw.records if WORLD.journal.by_id[seen.id].outcome is SendOutcome.UNKNOWN)
    without = replace(raw, records=tuple(seen for seen in raw.records if seen is not unknown))
    rows = replace(raw, kind=ObservedKind.ROWS)
    assert judged(Observations(outputs=(rows,))) == (ProofVerdict.PROVEN, set())
    assert judged(Observations(outputs=(replace(rows, records=without.records),))) == (ProofVerdict.PROVEN, set())
    # The topic has it, so the raw records must have it too.
    only = Observations(outputs=(without,))
    assert judged(replace(only, ends={"": WORLD.ends})) == (ProofVerdict.BROKEN, {ProofFault.GAP})
    assert judged(only) == (ProofVerdict.INCONCLUSIVE, {ProofFault.NOT_READ})
