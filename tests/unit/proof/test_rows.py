"""Rows of an output beside those that it must hold: each as often as promised, in the order of its records."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.proof.findings import ProofFault, ProofVerdict, concluded
from sluice.proof.generation.made import RecordFate
from sluice.proof.journal import SendJournal, SendOutcome, SentRecord
from sluice.proof.observations import JudgedRecord, ObservedRow, ObservedRows, RowsPromise
from sluice.proof.rows import IDLE, check_rows
from sluice.proof.rows_file import OpenCut, RowsAnswer, read_answer, read_cut, write_answer, write_cut
from sluice.proof.surroundings import check_judged
from sluice.topics.records import RecordPosition

DUE = tuple(ObservedRow(key, f"{key}{n}", RecordPosition(0, n)) for n, key in enumerate("abab"))


def found(output: ObservedRows) -> dict[str, int]:
    return {finding.fault.value: finding.count for finding in check_rows(output)}


def each(*contents: str, due: tuple[ObservedRow, ...] = DUE, promise: RowsPromise = RowsPromise.EACH) -> dict[str, int]:
    seen = tuple(ObservedRow(text[0], text) for text in contents)
    return found(ObservedRows("news", promise, due, seen, is_ordered=True))


def test_each_row_is_there_once() -> None:
    assert each("a0", "b1", "a2", "b3") == {}
    assert each("b1", "a0", "b3", "a2") == {}  # only the order of a key counts
    assert each("a0", "b1", "b3") == {"lost": 1}
    assert each("a0", "a0", "b1", "b1", "a2", "b3") == {"twice": 2}
    assert each("a0", "b1", "a2", "b3", "a9") == {"phantom": 1}
    assert each("a2", "a0", "b1", "b3") == {"reordered": 1}
    assert found(ObservedRows("rows", RowsPromise.EACH, DUE, DUE[::-1])) == {}  # a table has no order
    assert each("a0", "b3", promise=RowsPromise.AT_MOST) == {}
    assert each("a0", "a0", "b1", "a2", "b3", promise=RowsPromise.AT_MOST) == {"twice": 1}


def test_rows_that_are_alike_are_counted_and_have_no_order() -> None:
    due = (*DUE, ObservedRow("a", "same"), ObservedRow("a", "same"))
    assert each("same", "a0", "b1", "a2", "same", "b3", due=due) == {}
    assert each("a0", "b1", "a2", "same", "b3", due=due) == {"lost": 1}


def test_what_was_not_read_to_its_end_has_lost_nothing_and_is_no_pass() -> None:
    output = ObservedRows("news", RowsPromise.EACH, DUE, DUE[:1], is_complete=False)
    assert found(output) == {"not_read": 1}
    assert concluded(tuple(check_rows(output))) is ProofVerdict.INCONCLUSIVE


def newest(**rows: str) -> dict[str, int]:
    output = ObservedRows(
        "live",
        RowsPromise.NEWEST,
        expected=(ObservedRow("a", "a2"), ObservedRow("b", "b3"), ObservedRow("b", "b4")),
        seen=tuple(ObservedRow(key, content) for key, content in rows.items()),
        older=(ObservedRow("a", "a0"),),
        allowed=(ObservedRow("settled", "s1"),),
    )
    return found(output)


def test_a_key_has_its_newest_row() -> None:
    assert newest(a="a2", b="b3") == {}
    assert newest(a="a2", b="b4", settled="s1") == {}
    assert newest(a="a0", b="b3") == {"stale": 1}
    assert newest(a="a7", b="b3") == {"row_differs": 1}
    assert newest(a="a2", b="b3", settled="s0") == {"row_differs": 1}
    assert newest(b="b3") == {"lost": 1}
    assert newest(a="a2", b="b3", c="c0") == {"phantom": 1}


def test_in_a_topic_the_last_row_of_a_key_counts_and_a_table_has_one() -> None:
    seen = tuple(ObservedRow("a", content) for content in ("a1", "a9", "a2"))
    due = (ObservedRow("a", "a2"),)
    assert found(ObservedRows("news", RowsPromise.NEWEST, due, seen, is_ordered=True)) == {}
    assert found(ObservedRows("news", RowsPromise.NEWEST, due, seen[:2], is_ordered=True)) == {"row_differs": 1}
    for both in (seen, seen[::-1], (seen[2], seen[2])):
        assert found(ObservedRows("live", RowsPromise.NEWEST, due, both)) == {"twice": 1}


def test_an_output_in_which_nothing_had_to_be_proves_nothing() -> None:
    for promise in RowsPromise:
        idle = tuple(check_rows(ObservedRows("news", promise, (), ())))
        assert [(each.fault, each.detail) for each in idle] == [(ProofFault.NOT_READ, IDLE)]
        assert found(ObservedRows("news", promise, (), DUE[:1])) == {"phantom": 1}


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=12), st.data())
def test_one_change_of_a_sound_output_is_found(keys: list[str], data: st.DataObject) -> None:
    due = tuple(ObservedRow(key, f"{key}{n}", RecordPosition(0, n)) for n, key in enumerate(keys))
    seen = list(due)
    at = data.draw(st.integers(0, len(seen) - 1))
    match data.draw(st.sampled_from(("lose", "repeat", "change"))):
        case "lose":
            del seen[at]
            fault = {"lost": 1}
        case "repeat":
            seen.append(seen[at])
            fault = {"twice": 1}
        case _:
            seen[at] = ObservedRow(seen[at].key, "other")
            fault = {"lost": 1, "phantom": 1}
    assert found(ObservedRows("news", RowsPromise.EACH, due, tuple(seen))) == fault
    assert found(ObservedRows("news", RowsPromise.EACH, due, due)) == {}


def test_what_is_asked_and_answered_is_read_back_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "file"
    cut = OpenCut({"flights": {0: 3}}, None, {"live": 7})
    write_cut(file, cut)
    assert read_cut(file) == cut
    rows = ObservedRows("news", RowsPromise.NEWEST, DUE, DUE[:1], DUE[1:], DUE[2:])
    answer = RowsAnswer((rows,), (JudgedRecord(RecordPosition(1, 2), "late", "", "flights"),), {"other": "why"})
    write_answer(file, answer)
    assert read_answer(file) == answer


@pytest.mark.parametrize(
    ("fate", "outcome", "reason", "is_found"),
    [
        (RecordFate.GOOD, "good", "", False),
        (RecordFate.GOOD, "late", "", True),
        (RecordFate.LATE, "late", "", False),
        (RecordFate.LATE, "good", "", True),
        (RecordFate.QUARANTINED, "quarantined", "malformed", False),
        (RecordFate.QUARANTINED, "good", "", True),
        (RecordFate.CONTROL, "control", "", False),
        (RecordFate.GOOD, "quarantined", "out_of_range", True),
        (RecordFate.GOOD, "quarantined", "unexpected", False),  # an expectation of the pipeline
    ],
)
def test_what_a_record_was_made_to_be_is_what_validation_says(
    fate: RecordFate, outcome: str, reason: str, *, is_found: bool
) -> None:
    place = RecordPosition(0, 5)
    sent = SentRecord("r", "p", 0, "k", 0, "c", 1.0, SendOutcome.ACKNOWLEDGED, place, fate)
    judged = (JudgedRecord(place, outcome, reason),)
    faults = [finding.fault for finding in check_judged(SendJournal((sent,)), judged)]
    assert faults == ([ProofFault.MISJUDGED] if is_found else [])
    assert list(check_judged(SendJournal((sent,)), None)) == []


def test_a_record_that_is_refused_for_another_reason_than_it_was_made_for_is_misjudged() -> None:
    place = RecordPosition(0, 5)
    sent = SentRecord(
        "r", "p", 0, "k", 0, "c", 1.0, SendOutcome.ACKNOWLEDGED, place, RecordFate.QUARANTINED, "malformed"
    )
    (finding,) = check_judged(SendJournal((sent,)), (JudgedRecord(place, "quarantined", "wrong_type"),))
    assert finding.detail == "it is quarantined (wrong_type), and was made quarantined (malformed)"
    assert list(check_judged(SendJournal((sent,)), (JudgedRecord(place, "quarantined", "malformed"),))) == []
