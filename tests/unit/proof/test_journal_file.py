"""A journal is read back as it was written; a torn end says nothing, and any other line that is not ours is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import CorruptionError
from sluice.proof.journal import SendOutcome, SentRecord
from sluice.proof.journal_file import line_of_acknowledgement, line_of_failure, line_of_sending, read_journal
from sluice.topics.records import RecordPosition

RECORDS = [SentRecord(f"p0-{n}", "p0", n, "key-ü\n", n, "abc", 1.5 + n) for n in range(3)]
POSITION = RecordPosition(1, 7)
LINES = [
    *map(line_of_sending, RECORDS),
    line_of_acknowledgement("p0-0", POSITION),
    line_of_failure("p0-2"),
]


def read(*lines: str, end: str = "") -> tuple[SentRecord, ...]:
    return read_journal([*(f"{line}\n" for line in lines), *([end] if end else ())]).records


def test_a_record_without_an_answer_is_unknown() -> None:
    first, second, third = read(*LINES)
    assert (first.outcome, first.position) == (SendOutcome.ACKNOWLEDGED, POSITION)
    assert second == RECORDS[1]
    assert (second.outcome, third.outcome) == (SendOutcome.UNKNOWN, SendOutcome.FAILED)


@given(cut=st.integers(0, sum(len(line) + 1 for line in LINES)))
def test_wherever_its_writer_dies_what_is_whole_is_read(cut: int) -> None:
    text = "".join(f"{line}\n" for line in LINES)[:cut]
    whole = text.count("\n")
    assert read_journal(text.splitlines(keepends=True)).records == read(*LINES[:whole])


@pytest.mark.parametrize(
    "wrong",
    [
        "{",
        "[]",
        "null",
        "7",
        '"sent"',
        "{}",
        '{"event": "sent"}',
        '{"event": "other", "id": "p0-1"}',
        '{"event": "acknowledged", "id": "p0-1", "partition": "x", "offset": 0}',
        '{"event": "failed", "id": "nobody"}',
        '{"event": "failed", "id": ["p0-1"]}',
        line_of_failure("p0-0"),
        line_of_sending(RECORDS[0]),
        json.dumps({**json.loads(line_of_sending(SentRecord("x", "p", 0, "k", 0, "c", 0.0))), "more": 1}),
    ],
)
def test_a_line_that_is_not_ours_is_refused(wrong: str) -> None:
    with pytest.raises(CorruptionError, match="line 6 of the journal"):
        read(*LINES, wrong)
