"""Whatever was sent and whatever came out: the checker counts as a slow and simple reader of both lists does."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from sluice.proof.findings import ProofFault
from sluice.proof.journal import SendJournal, SendOutcome, SentRecord
from sluice.proof.observations import ObservedKind, ObservedLatest, ObservedRecord, ObservedRecords
from sluice.proof.records import check_conservation, check_latest, check_records
from sluice.topics.records import RecordPosition

LOSSES = {ProofFault.LOST, ProofFault.LOST_HEAD, ProofFault.LOST_TAIL}


@dataclass(frozen=True)
class Case:
    journal: SendJournal
    output: ObservedRecords


@st.composite
def journals(draw: st.DrawFn) -> SendJournal:
    """Records of up to three keys, each on a partition of its own number modulo 2."""
    sequences, offsets, records = [0, 0, 0], [0, 0], list[SentRecord]()
    for number, key in enumerate(draw(st.lists(st.integers(0, 2), max_size=12))):
        outcome = draw(st.sampled_from(SendOutcome))
        position = None
        if outcome is SendOutcome.ACKNOWLEDGED:
            position = RecordPosition(key % 2, offsets[key % 2])
            offsets[key % 2] += 1
        records.append(
            SentRecord(str(number), "p", number, str(key), sequences[key], f"c{number}", number, outcome, position)
        )
        sequences[key] += 1
    return SendJournal(tuple(records))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    journal = draw(journals())
    ids = draw(st.lists(st.sampled_from([*journal.by_id, "nobody's"]), max_size=15))
    seen = tuple(_as_seen(journal, identity, altered=draw(st.integers(0, 4)) == 0) for identity in ids)
    expected = draw(st.none() | st.frozensets(st.sampled_from([*journal.by_id, "x"])))
    kind = draw(st.sampled_from(ObservedKind))
    return Case(journal, ObservedRecords("output", kind, seen, expected, draw(st.booleans())))


def _as_seen(journal: SendJournal, identity: str, *, altered: bool) -> ObservedRecord:
    sent = journal.by_id.get(identity)
    return ObservedRecord(identity, "other" if altered or sent is None else sent.checksum, sent and sent.position)


def brute_force(case: Case) -> dict[str, int]:
    """Return the number of cases per fault; the three kinds of losses are one."""
    sent, seen = list(case.journal), list(case.output.records)
    belongs = [case.output.expected is None or each.id in case.output.expected for each in sent]
    ids = [each.id for each in seen]
    found = dict.fromkeys(("lost", "twice", "phantom", "failed_seen", "altered", "reordered", "not_read"), 0)
    for each, due in zip(sent, belongs, strict=True):
        times = ids.count(each.id)
        found["twice"] += times > 1
        if each.outcome == "failed":
            found["failed_seen"] += times > 0
        elif not due:
            found["phantom"] += times > 0
        if each.outcome == "acknowledged" and due and case.output.is_complete:
            found["lost"] += times == 0
        found["altered"] += sum(row.id == each.id and row.checksum != each.checksum for row in seen)
    strangers = [each for each in ids if each not in case.journal.by_id]
    found["phantom"] += len(set(strangers))
    found["twice"] += len(strangers) > 1
    first = [case.journal.by_id[each] for n, each in enumerate(ids) if each not in ids[:n] and each not in strangers]
    if case.output.kind != "rows":
        found["reordered"] = sum(
            any(b.key == a.key and b.sequence > a.sequence for b in first[:n]) for n, a in enumerate(first)
        )
    found["not_read"] = not case.output.is_complete
    return {name: count for name, count in found.items() if count}


@given(case=cases())
def test_the_checker_counts_as_brute_force_does(case: Case) -> None:
    counted: dict[str, int] = {}
    for finding in check_records(case.journal, case.output):
        name = "lost" if finding.fault in LOSSES else finding.fault.value
        counted[name] = counted.get(name, 0) + finding.count
        assert finding.example
        assert str(finding)
    assert counted == brute_force(case)


@given(journal=journals())
def test_what_shows_all_that_is_acknowledged_is_sound(journal: SendJournal) -> None:
    seen = tuple(_as_seen(journal, sent.id, altered=False) for sent in journal.acknowledged)
    assert list(check_records(journal, ObservedRecords("raw", ObservedKind.RAW, seen))) == []


def of_offsets(*offsets: int) -> ObservedRecords:
    records = tuple(ObservedRecord(str(number), "", RecordPosition(0, number)) for number in offsets)
    return ObservedRecords("raw", ObservedKind.RAW, records)


def test_every_offset_of_the_topic_is_in_the_raw_records_and_no_other() -> None:
    assert list(check_conservation(of_offsets(3, 4, 5), {0: (3, 6)})) == []
    (gap,) = check_conservation(of_offsets(3, 5), {0: (3, 6)})
    assert (gap.fault, gap.example) == (ProofFault.GAP, "0/4")
    (beyond,) = check_conservation(of_offsets(3, 4, 5, 6), {0: (3, 6)})
    assert (beyond.fault, beyond.example) == (ProofFault.PHANTOM, "0/6")
    (unseen,) = check_conservation(of_offsets(), {1: (0, 1)})
    assert (unseen.fault, unseen.example) == (ProofFault.GAP, "1/0")


def lost_of(*seen: int) -> dict[ProofFault, int]:
    records = [
        SentRecord(str(n), "p", n, "k", n, "c", n, SendOutcome.ACKNOWLEDGED, RecordPosition(0, n)) for n in range(5)
    ]
    found = tuple(ObservedRecord(str(number), "c", RecordPosition(0, number)) for number in seen)
    output = ObservedRecords("raw", ObservedKind.RAW, found)
    return {finding.fault: finding.count for finding in check_records(SendJournal(tuple(records)), output)}


def test_a_lost_head_and_a_lost_tail_are_told_from_a_hole() -> None:
    assert lost_of(2, 3, 4) == {ProofFault.LOST_HEAD: 2}
    assert lost_of(0, 1, 2) == {ProofFault.LOST_TAIL: 2}
    assert lost_of(0, 4) == {ProofFault.LOST: 3}
    assert lost_of() == {ProofFault.LOST: 5}


def test_the_newest_record_of_a_key_is_acknowledged_or_unknown() -> None:
    outcomes = [SendOutcome.ACKNOWLEDGED, SendOutcome.ACKNOWLEDGED, SendOutcome.UNKNOWN, SendOutcome.FAILED]
    journal = SendJournal(
        tuple(SentRecord(str(n), "p", n, "k", n, f"c{n}", n, outcome) for n, outcome in enumerate(outcomes))
    )

    def found(*rows: tuple[str, int, str]) -> list[ProofFault]:
        shown = {key: (sequence, checksum) for key, sequence, checksum in rows}
        return [each.fault for each in check_latest(journal, ObservedLatest("latest", shown))]

    assert found(("k", 1, "c1")) == []
    assert found(("k", 2, "c2")) == []
    assert found(("k", 0, "c0")) == [ProofFault.STALE]
    assert found(("k", 3, "c3")) == [ProofFault.FAILED_SEEN]
    assert found(("k", 1, "c0")) == [ProofFault.ALTERED]
    assert found() == [ProofFault.LOST]
    assert found(("k", 1, "c1"), ("other", 0, "c")) == [ProofFault.PHANTOM]
