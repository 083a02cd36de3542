"""Of several topics each is judged by its own records: partitions, offsets, keys and bytes may be the same in all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sluice.proof.findings import ProofFault, ProofVerdict
from sluice.proof.generation.made import RecordFate
from sluice.proof.journal import SendJournal, SendOutcome, SentRecord
from sluice.proof.judgement import judge
from sluice.proof.observations import (
    JudgedRecord,
    Observations,
    ObservedKind,
    ObservedRecord,
    ObservedRecords,
    ObservedRow,
    ObservedRows,
    ReaderLook,
    RowsPromise,
)
from sluice.proof.rows import check_rows
from sluice.topics.records import RecordPosition

TOPICS, RECORDS = ("shown", "clicked"), 6


def sent(topic: str, number: int) -> SentRecord:
    place = RecordPosition(number % 2, number // 2)
    fate = RecordFate.QUARANTINED if number == 3 else RecordFate.GOOD
    return SentRecord(
        *(f"{topic}-{number}", f"p-{topic}", number, f"key-{number % 2}", number // 2, f"c{number}", float(number)),
        *(SendOutcome.ACKNOWLEDGED, place, fate, "", topic),
    )


JOURNAL = SendJournal(tuple(sent(topic, number) for number in range(RECORDS) for topic in TOPICS))


def seen_in(topic: str) -> ObservedRecords:
    records = tuple(ObservedRecord(each.id, each.checksum, each.position) for each in JOURNAL.of(topic))
    return ObservedRecords(f"{topic}_raw", ObservedKind.RAW, records, topic=topic)


LETTERS = ObservedRecords(
    "dead",
    ObservedKind.TOPIC,
    tuple(ObservedRecord(f"{topic}-3", "c3") for topic in TOPICS),
    frozenset(f"{topic}-3" for topic in TOPICS),
)
ENDS = {topic: {0: (0, 3), 1: (0, 3)} for topic in TOPICS}
JUDGED = tuple(JudgedRecord(each.position or RecordPosition(0, 0), each.fate, "", each.topic) for each in JOURNAL)
SOUND = Observations(
    outputs=(seen_in("shown"), seen_in("clicked"), LETTERS),
    judged=JUDGED,
    ends=ENDS,
    looks=(ReaderLook("shown_raw", 99.0, frozenset(each.id for each in JOURNAL.of("shown"))),),
)


def found(seen: Observations) -> set[tuple[ProofFault, str]]:
    return {(finding.fault, finding.where) for finding in judge(JOURNAL, seen).findings}


def test_two_topics_with_the_same_offsets_and_keys_are_proven() -> None:
    proof = judge(JOURNAL, SOUND)
    assert (proof.verdict, proof.findings) == (ProofVerdict.PROVEN, ())


@pytest.mark.parametrize(
    ("lost", "faults"),
    [
        (0, {(ProofFault.LOST_HEAD, "clicked_raw"), (ProofFault.GAP, "clicked_raw")}),
        (5, {(ProofFault.LOST_TAIL, "clicked_raw"), (ProofFault.GAP, "clicked_raw")}),
        (2, {(ProofFault.LOST, "clicked_raw"), (ProofFault.GAP, "clicked_raw")}),
    ],
)
def test_what_one_topic_lost_the_other_does_not_hide(lost: int, faults: set[tuple[ProofFault, str]]) -> None:
    own = seen_in("clicked")
    less = replace(own, records=tuple(each for each in own.records if each.id != f"clicked-{lost}"))
    assert found(replace(SOUND, outputs=(seen_in("shown"), less, LETTERS))) == faults


def test_a_record_in_the_other_topics_table_belongs_to_nobody() -> None:
    own, other = seen_in("clicked"), seen_in("shown")
    mixed = replace(own, records=(*own.records, other.records[1]))
    assert found(replace(SOUND, outputs=(other, mixed, LETTERS))) == {(ProofFault.PHANTOM, "clicked_raw")}


def test_the_order_of_a_key_is_that_of_its_topic() -> None:
    own = seen_in("shown")
    turned = replace(own, records=(own.records[2], *own.records[:2], *own.records[3:]))
    assert found(replace(SOUND, outputs=(turned, seen_in("clicked"), LETTERS))) == {(ProofFault.REORDERED, "shown_raw")}


def test_a_topic_whose_ends_are_not_known_is_not_read() -> None:
    assert found(replace(SOUND, ends={"shown": ENDS["shown"]})) == {(ProofFault.NOT_READ, "clicked_raw")}


def test_a_record_is_judged_as_the_one_of_its_own_topic() -> None:
    odd = tuple(replace(each, outcome="late") if (each.topic, each.position) == PLACE else each for each in JUDGED)
    (finding,) = judge(JOURNAL, replace(SOUND, judged=odd)).findings
    assert (finding.fault, finding.example) == (ProofFault.MISJUDGED, "clicked-4")


PLACE = ("clicked", RecordPosition(0, 2))


def test_the_journal_of_two_topics_is_sound_and_a_key_has_one_producer_in_each() -> None:
    assert list(JOURNAL.faults()) == []
    first = JOURNAL.records[0]
    stolen = SendJournal((*JOURNAL.records, replace(first, id="x", producer="q", number=0, sequence=RECORDS // 2)))
    assert any("is sent by p-shown and by q" in fault for fault in stolen.faults())


def test_rows_of_two_topics_have_no_order_between_them() -> None:
    due = tuple(ObservedRow("k", f"{topic}{n}", RecordPosition(0, n), topic) for topic in TOPICS for n in range(2))
    mixed = (due[1], due[2], due[0], due[3])
    rows = ObservedRows("news", RowsPromise.EACH, due, (due[0], due[2], due[1], due[3]), is_ordered=True)
    assert list(check_rows(rows)) == []
    (finding,) = check_rows(replace(rows, seen=mixed))
    assert finding.fault is ProofFault.REORDERED
    assert finding.example == "shown0"
