from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.health.batch_log import BatchFigures, append_batch, batches, older, quarantined, runs

AT = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def line(number: int, **more: object) -> dict[str, object]:
    return {"batch_id": number, "generation": 1, "at": "2026-11-21T12:00:00.000Z", "rows": 10 * number, **more}


def test_a_batch_comes_back_with_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "progress" / "departures.batches.jsonl"
    append_batch(
        file,
        line(
            3,
            input_rows_per_second=1.5,
            processed_rows_per_second=2,
            duration_ms={"addBatch": 400, "triggerExecution": 1500},
            watermark="2013-01-01T05:00:00.000Z",
            state_rows=7,
            state_bytes=1024,
            dropped_by_watermark=2,
            quarantined={"malformed": 3},
            lag_records=5,
            cpu_seconds=12.25,
            jvm={"heap_used_bytes": 3e8, "threads": 80},
            executor_seconds=7.5,
            memory_bytes=1e9,
        ),
    )
    (found,) = batches(file)
    assert found == BatchFigures(
        number=3,
        generation=1,
        at=AT,
        rows=30,
        input_rate=1.5,
        process_rate=2.0,
        phases={"addBatch": 400.0, "triggerExecution": 1500.0},
        watermark=datetime(2013, 1, 1, 5, tzinfo=UTC),
        state_rows=7,
        state_bytes=1024,
        late_rows=2,
        quarantined={"malformed": 3},
        lag_records=5,
        cpu_seconds=12.25,
        jvm={"heap_used_bytes": 3e8, "threads": 80.0},
        executor_seconds=7.5,
        memory_bytes=1e9,
    )
    assert found.seconds == 1.5


def test_what_a_first_batch_does_not_know_is_none(tmp_path: Path) -> None:
    file = tmp_path / "s.batches.jsonl"
    file.write_text('{"batch_id":0,"generation":1,"at":"2026-11-21T12:00:00Z","rows":0,"input_rows_per_second":NaN}\n')
    (found,) = batches(file)
    assert (found.input_rate, found.process_rate, found.watermark, found.lag_records) == (None, None, None, None)
    assert found.seconds is None


def test_there_is_nothing_of_a_stream_that_never_ran(tmp_path: Path) -> None:
    assert list(batches(tmp_path / "none.batches.jsonl")) == []


@pytest.mark.parametrize("bad", [b"{", b"\xff", b"[]", b"null", b'{"batch_id":1}', b'{"batch_id":"x","rows":1}', b""])
def test_a_line_that_nobody_understands_costs_no_other(tmp_path: Path, bad: bytes) -> None:
    file = tmp_path / "s.batches.jsonl"
    append_batch(file, line(1))
    with file.open("ab") as opened:
        opened.write(bad + b"\n")
    append_batch(file, line(2))
    assert [each.number for each in batches(file)] == [1, 2]


def test_a_full_file_becomes_the_older_of_two_and_both_are_read(tmp_path: Path) -> None:
    file, most = tmp_path / "s.batches.jsonl", 1000
    for number in range(100):
        append_batch(file, line(number), max_bytes=most)
    assert max(file.stat().st_size, older(file).stat().st_size) <= most
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.batches.jsonl", "s.batches.old.jsonl"]
    numbers = [each.number for each in batches(file)]
    assert numbers == list(range(numbers[0], 100))
    assert len(numbers) > 1000 // len(json.dumps(line(99)))
    assert [each.number for each in batches(file, most=3)] == [97, 98, 99]


@given(st.lists(st.integers(1, 3)))
def test_runs_are_the_batches_of_one_generation_each(generations: list[int]) -> None:
    found = [BatchFigures(number, generation, AT, 1) for number, generation in enumerate(generations)]
    divided = list(runs(found))
    assert [each for run in divided for each in run] == found
    assert all(len({each.generation for each in run}) == 1 for run in divided)
    assert all(a[-1].generation != b[0].generation for a, b in pairwise(divided))


def figures(number: int, counts: dict[str, int] | None, generation: int = 1) -> BatchFigures:
    return BatchFigures(number=number, generation=generation, at=AT, rows=10, quarantined=counts)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], None),
        ([figures(0, None)], None),
        ([figures(0, None), figures(1, {})], {}),
        ([figures(0, {"a": 1, "b": 2}), figures(1, {"b": 3, "c": 4})], {"b": 5, "c": 4, "a": 1}),
        ([figures(4, {"a": 1}), figures(4, {"a": 3}, generation=2)], {"a": 3}),
        ([figures(4, {"a": 1}), figures(0, {"a": 3}, generation=2), figures(4, {"a": 5}, generation=2)], {"a": 9}),
    ],
    ids=["no batch", "nobody counted", "none", "several", "repeated after a crash", "after a reset"],
)
def test_what_batches_quarantined_adds_up_by_reason(found: list[BatchFigures], expected: dict[str, int] | None) -> None:
    total = quarantined(found)
    assert total == expected
    assert total is None or list(total.values()) == sorted(total.values(), reverse=True)
