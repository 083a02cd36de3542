"""What benchmarks rest on: the order of trials, the interval around a median, and what a process tree cost."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.trials import TrialError, abba, median_interval, run_counted

NUMBERS = st.lists(st.floats(min_value=0.1, max_value=10), min_size=1, max_size=9)

BURN = "import time\nwhile time.process_time() < 0.3: pass"
ORPHAN = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', '''{BURN}'''])"


def test_what_is_first_in_a_pair_is_second_in_the_next() -> None:
    assert list(abba("a", "b", 4)) == [("a", "b"), ("b", "a"), ("a", "b"), ("b", "a")]


@given(st.integers(min_value=1, max_value=20))
def test_of_an_even_number_of_pairs_each_leads_half(half: int) -> None:
    assert Counter(first for first, _ in abba("a", "b", 2 * half)) == {"a": half, "b": half}


@settings(max_examples=settings().max_examples // 3)  # each draws the median ten thousand times
@given(NUMBERS)
def test_the_interval_lies_within_what_was_measured_and_around_the_median(values: list[float]) -> None:
    low, high = median_interval(values)
    assert min(values) <= low <= sorted(values)[len(values) // 2] <= high <= max(values)


def test_the_same_values_give_the_same_interval() -> None:
    assert median_interval([0.9, 1.0, 1.1, 1.3, 0.8]) == median_interval([0.9, 1.0, 1.1, 1.3, 0.8])


def test_the_interval_is_that_of_the_exact_distribution() -> None:
    # The median of five draws is the least value with a probability of 0.058: more than the 0.025 outside on a side.
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) == (1.0, 5.0)
    low, high = median_interval([float(n) for n in range(1, 101)])
    assert 40 < low < 50 < high < 61


def test_less_confidence_gives_a_narrower_interval() -> None:
    values = [float(n) for n in range(50)]
    wide, narrow = median_interval(values), median_interval(values, confidence=0.5)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_no_values_have_no_interval() -> None:
    with pytest.raises(ValueError, match="no values"):
        median_interval([])


def test_the_cost_of_a_command_includes_a_process_that_outlives_it() -> None:
    cost = run_counted([sys.executable, "-c", ORPHAN], {}, timeout=20)
    assert 0.3 <= cost.cpu < 3
    assert cost.wall >= 0.3


def test_a_command_sees_what_is_added_to_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLACED", "old")
    monkeypatch.setenv("INHERITED", "too")
    note = "import json, os, sys; json.dump(dict(os.environ), open(sys.argv[1], 'w'))"
    run_counted([sys.executable, "-c", note, str(tmp_path / "seen")], {"WANTED": "here", "REPLACED": "new"}, timeout=20)
    seen = json.loads((tmp_path / "seen").read_text(encoding="utf-8"))
    assert (seen["WANTED"], seen["REPLACED"], seen["INHERITED"]) == ("here", "new", "too")


def test_a_failed_command_is_told_with_its_last_words() -> None:
    with pytest.raises(TrialError, match="exit code 3: no input"):
        run_counted([sys.executable, "-c", "import sys; print('no input'); sys.exit(3)"], {}, timeout=20)


def test_a_command_that_does_not_end_is_killed() -> None:
    began = time.monotonic()
    with pytest.raises(TrialError, match="did not end within 0 s"):
        run_counted([sys.executable, "-c", "import time; time.sleep(60)"], {}, timeout=0.3)
    assert time.monotonic() - began < 10
