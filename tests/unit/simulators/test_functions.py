"""Events that a function of the project makes, and what is said of a function that does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.errors import SpecError
from tests.unit.simulators.test_records import SIMULATE, records

GOOD = """
from datetime import timedelta

def posts(random, start, end):
    for n in range(3):
        yield start + timedelta(seconds=n), {"post": f"p{n}", "words": int(random.random() * 9)}
"""


BACKWARDS = """
def posts(random, start, end):
    yield start + (end - start) / 2, {"post": "1"}
    yield start, {"post": "2"}
"""


def made(folder: Path, source: str, function: str = "scenario:posts") -> list[dict[str, Any]]:
    (folder / "simulators").mkdir()
    (folder / "simulators" / "scenario.py").write_text(source)
    keys = {"function": function, "fields": {}, "rate": None}
    return [json.loads(each.value) for each in records(folder=folder, **keys)]


def test_a_function_makes_the_events_and_the_simulator_their_times(tmp_path: Path) -> None:
    found = made(tmp_path, GOOD)
    assert [each["post"] for each in found] == ["p0", "p1", "p2"]
    assert [each["commit"]["at"] for each in found] == [f"2026-01-05T08:00:0{n}Z" for n in range(3)]


def test_functions_of_a_module_draw_the_same_numbers(tmp_path: Path) -> None:
    both = made(tmp_path, GOOD + GOOD.replace("def posts", "def others"))
    (tmp_path / "other").mkdir()
    assert both == made(tmp_path / "other", GOOD + GOOD.replace("def posts", "def others"), "scenario:others")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("posts = 3", "has no function 'posts'"),
        ("import nothing_of_that_name", "cannot be imported: ModuleNotFoundError.*line 1 of scenario.py"),
        ("def posts(random, start, end):\n    return 3", "fails: TypeError"),
        ("def posts(random):\n    yield 3", "fails: TypeError"),
        ("def posts(random, start, end):\n    yield start, {}\n    1 / 0", "ZeroDivisionError.*line 3 of scenario.py"),
        ("def posts(random, start, end):\n    yield start", "event 1 of scenario:posts is .*, and no event"),
        ("def posts(random, start, end):\n    yield start.replace(tzinfo=None), {}", "and no event"),
        ("def posts(random, start, end):\n    yield start, {1: 2}", "and no event"),
        ("def posts(random, start, end):\n    yield end, {}", "event 1 .* outside the simulated time"),
        (BACKWARDS, "event 2 .* before the one before it"),
        ("def posts(random, start, end):\n    yield from ()", "makes no event"),
    ],
)
def test_what_is_no_source_of_events_is_refused_with_its_line(tmp_path: Path, source: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        made(tmp_path, source)


def test_a_module_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"there is no file include/simulators/other\.py"):
        made(tmp_path, GOOD, "other:posts")


def test_fields_and_a_function_exclude_each_other() -> None:
    for keys in ({"function": "scenario:posts"}, {"fields": {}}):
        with pytest.raises(ValueError, match="write one of the two"):
            records(**{**SIMULATE, **keys})
