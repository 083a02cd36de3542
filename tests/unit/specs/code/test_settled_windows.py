"""A settled table takes any window whose reach its spec declares; a shorter declaration is refused before a start."""

from __future__ import annotations

from datetime import timedelta
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.code.window_rules import WindowCall, read_beyond
from tests.unit.specs.bench import PIPELINE, PIPELINE_FILE, TRANSFORM_FILE, sound_project

MINUTE = timedelta(minutes=1)


def faults(tmp_path: Path, grouping: str, *declared: str, window: str = "window: 1 hour") -> list[str]:
    bench = sound_project(tmp_path)
    output = "\n  ".join([*declared, window])
    bench.write(PIPELINE_FILE, PIPELINE.replace("window: 1 hour", output))
    body = f"def sales(orders, *, shops):\n    return orders.groupBy({grouping}).count()\n"
    bench.write(TRANSFORM_FILE, f"from pyspark.sql import functions as F\n\n\n{body}")
    return [f"{fault.where}: {fault.message} {fault.fix}" for fault in bench.scan().faults]


@pytest.mark.parametrize(
    ("grouping", "declared", "window"),
    [
        ("F.window('ordered_at', '1 hour')", [], "window: 1 hour"),
        ("F.window('ordered_at', '20 minutes')", [], "window: 20 minutes"),
        ("F.window('ordered_at', '1 hour', '10 minutes')", ["lookahead: 50 minutes"], "window: 1 hour"),
        ("F.window('ordered_at', '1 hour', '10 minutes')", ["lookback: 1 hour"], "window: 1 hour"),
        ("F.window('ordered_at', '1 hour', '10 minutes')", ["lookback: 2 hours"], ""),
        ("F.window('ordered_at', '1 day')", ["lookahead: 23 hours"], "window: 1 day"),
        ("F.window('ordered_at', '1 hour', startTime='15 minutes')", ["lookahead: 15 minutes"], "window: 1 hour"),
        ("F.window('ordered_at', '30 ' + 'minutes')", [], ""),
        ("F.session_window('ordered_at', '5 minutes')", ["lookback: 1 hour", "since_column: began"], ""),
        ("'shop'", ["lookahead: 25 hours"], ""),
    ],
)
def test_windows_that_reach_as_far_as_declared_pass(
    tmp_path: Path, grouping: str, declared: list[str], window: str
) -> None:
    assert faults(tmp_path, grouping, *declared, window=window) == []


@pytest.mark.parametrize(
    ("grouping", "declared", "window", "words"),
    [
        (
            "F.window('ordered_at', '1 hour', '10 minutes')",
            [],
            "window: 1 hour",
            "write `lookahead: 50 minutes` if `time_column` holds a window's start, `lookback: 1 hour` if it holds",
        ),
        (
            "F.window('ordered_at', '1 hour', '10 minutes')",
            ["lookahead: 49 minutes"],
            "",
            "reach up to 50 minutes beyond the hour in which they begin",
        ),
        ("F.window('ordered_at', '7 hours')", ["lookback: 6 hours"], "", "write `lookahead: 6 hours` if"),
        ("F.window('ordered_at', '1 hour', startTime='1 minute')", [], "", "write `lookahead: 1 minute` if"),
        ("F.window('ordered_at', '2 hours')", ["lookback: 2 hours"], "window: 1 hour", "windows are 2 hours long"),
        ("F.session_window('ordered_at', '5 minutes')", [], "", "declares no `lookback` and `since_column`"),
        ("F.session_window('ordered_at', '5 minutes')", ["lookback: 1 hour"], "", "declares no `since_column`"),
        (
            "F.session_window('ordered_at', '5 minutes')",
            ["lookback: 9 minutes", "since_column: began"],
            "",
            "write `lookback: 10 minutes`, or more.",
        ),
    ],
)
def test_windows_that_reach_further_than_declared_are_refused_with_what_to_write(
    tmp_path: Path, grouping: str, declared: list[str], window: str, words: str
) -> None:
    (fault,) = faults(tmp_path, grouping, *declared, window=window)
    assert words in fault


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["since_column: began"], "there is no `lookback` to be widened"),
        (["window: 0s"], "a window of no length holds nothing"),
    ],
)
def test_keys_that_mean_nothing_together_are_refused(tmp_path: Path, lines: list[str], words: str) -> None:
    bench = sound_project(tmp_path)
    bench.write(PIPELINE_FILE, PIPELINE.replace("  window: 1 hour\n", "".join(f"  {line}\n" for line in lines)))
    assert any(words in fault.message for fault in bench.scan().faults)


def test_a_row_of_a_live_table_goes_when_it_is_settled_whether_or_not_a_window_is_declared(tmp_path: Path) -> None:
    bench = sound_project(tmp_path)
    settled = "{kind: intervals, table: sales, time_column: hour, interval: hour}"
    live = "{kind: latest, table: live, keys: [hour], keep: open}"
    start, end = PIPELINE.index("output:"), PIPELINE.index("driver:")
    bench.write(PIPELINE_FILE, f"{PIPELINE[:start]}outputs:\n- {settled}\n- {live}\n{PIPELINE[end:]}")
    assert bench.scan().faults == ()


@given(
    length=st.integers(1, 3000), slide=st.integers(1, 3000), offset=st.integers(0, 3000), hours=st.sampled_from([1, 24])
)
def test_the_reach_is_that_of_the_last_window_that_begins_in_an_interval(
    length: int, slide: int, offset: int, hours: int
) -> None:
    """Checked against every window of the first intervals, in minutes."""
    slide = min(slide, length)
    call = WindowCall(Path("t"), 1, length=length * MINUTE, slide=slide * MINUTE, offset=offset % slide * MINUTE)
    interval = hours * 60
    starts = range(offset % slide, offset % slide + slide * interval, slide)  # of one period of both
    furthest = max((start + length - (start // interval + 1) * interval for start in starts), default=-inf)
    ahead, back = read_beyond(call, length * MINUTE, interval * MINUTE)
    assert ahead == max(furthest, 0) * MINUTE
    assert back == length * MINUTE
