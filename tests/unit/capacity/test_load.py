from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from sluice.capacity.load import batch_times, load_windows, records_read
from tests.unit.capacity.measured_load import BASE, BEGIN, EACH, FIXED, OF_BATCH, log


def test_windows_have_what_the_driver_did_without_its_first_minute() -> None:
    found = load_windows({"s": log([1_000] * 60)}, "s")
    assert found[0].begin >= BEGIN + timedelta(seconds=60)
    assert len(found) == 23
    for window in found:
        assert window.seconds == pytest.approx(10)
        assert window.rate == pytest.approx(1_000)
        assert window.cpu_seconds == pytest.approx(10 * (BASE + EACH * 1_000))
        assert window.batches == 2


def test_batches_of_all_streams_count_also_those_that_are_missing_in_a_log() -> None:
    other = log([10] * 300)
    other = [replace(batch, at=BEGIN + timedelta(seconds=batch.number)) for batch in other if batch.number % 3 == 0]
    found = load_windows({"s": log([1_000] * 40), "other": other}, "s")
    assert {window.batches for window in found} <= {10, 11, 12, 13, 14}
    assert sum(window.batches for window in found) == pytest.approx(12 * len(found), abs=3)


def test_no_window_spans_two_drivers() -> None:
    second = log([2_000] * 40, generation=2, start=BEGIN + timedelta(hours=1))
    found = load_windows({"s": [*log([1_000] * 40), *second]}, "s")
    assert {round(window.rate) for window in found} == {1_000, 2_000}
    assert all(window.begin - BEGIN >= timedelta(minutes=61) for window in found if window.rate > 1_500)


def test_executors_count() -> None:
    batches = [replace(batch, executor_seconds=2.0 * batch.number) for batch in log([1_000] * 40)]
    for window in load_windows({"s": batches}, "s"):
        assert window.cpu_seconds == pytest.approx(10 * (BASE + EACH * 1_000) + 4)


def test_a_rest_is_no_load_and_a_stream_that_counts_again_from_nothing_neither() -> None:
    before, after = log([1_000] * 40), log([1_000] * 80)[40:]
    rested = [replace(batch, at=batch.at + timedelta(hours=3)) for batch in after]
    assert max(window.seconds for window in load_windows({"s": [*before, *rested]}, "s")) < 31
    again = [replace(batch, read=(batch.read or 0) - 200_000) for batch in after]
    assert all(window.records >= 0 for window in load_windows({"s": [*before, *again]}, "s"))


def test_records_of_other_topics_count_in_the_windows_of_the_first() -> None:
    logs = {"a": log([1_000] * 60), "b": log([500, 1_500] * 30, start=BEGIN + timedelta(seconds=2))}
    alone, both = load_windows(logs, "a"), load_windows(logs, "a", beside=["b"])
    assert [window.begin for window in both] == [window.begin for window in alone]
    assert {round(window.rate) for window in alone} == {1_000}
    assert {round(window.rate) for window in both} == {2_000}
    assert (records_read(logs["a"]), records_read(logs["b"]), records_read([])) == (295_000, 297_500, 0)


def test_a_log_without_figures_has_no_window() -> None:
    unread = [replace(batch, read=None) for batch in log([1_000] * 40)]
    assert load_windows({"s": unread}, "s") == []
    assert load_windows({"s": []}, "s") == []


def test_the_time_of_each_batch_is_known_where_the_one_before_is() -> None:
    batches = log([1_000, 2_000] * 20)
    found = batch_times([batch for batch in batches if batch.number != 30])
    assert len(found) == 40 - 12 - 2
    for time in found:
        assert time.seconds == pytest.approx(FIXED + OF_BATCH * time.records)
