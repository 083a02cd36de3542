"""Every row of the fault matrix has a test that declares it, and the page of the documentation says which."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.integration.spark.faults.strikes import KINDS, PAIRS, schedule
from tests.matrix.declarations import HOME, declarations
from tests.matrix.page import page
from tests.matrix.rows import MATRIX, TRIED

PAGE = HOME / "docs" / "dev" / "fault-matrix.md"
DESIGNED = 26
"""Rows of the design."""


def test_every_row_that_is_tried_has_a_test_and_no_other_has_one() -> None:
    assert set(declarations()) == TRIED
    assert len(TRIED) > DESIGNED
    assert [row.number for row in MATRIX.values()] == list(range(1, len(MATRIX) + 1))
    assert all(not row.untried for row in list(MATRIX.values())[:DESIGNED])


@pytest.mark.parametrize("test", sorted({test for tests in declarations().values() for test in tests}))
def test_a_test_that_declares_a_row_takes_what_it_reports_to(test: str) -> None:
    file, _, name = test.partition("::")
    (function,) = [
        node
        for node in ast.walk(ast.parse((HOME / file).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    assert "faults" in [argument.arg for argument in function.args.args]


def test_declarations_are_found_on_tests_on_cases_and_behind_names(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_some.py").write_text(
        "import pytest\n"
        'SLEEPY = (pytest.mark.verify, pytest.mark.proves("zombie"))\n'
        '@pytest.mark.proves("driver-killed", "jvm-killed")\n'
        "def test_one(faults): ...\n"
        '@pytest.mark.parametrize("n", [pytest.param(1, marks=SLEEPY), 2])\n'
        "def test_two(n, faults): ...\n"
        "def test_three(): ...\n",
        encoding="utf-8",
    )
    (folder / "test_none.py").write_text("def test_four(): ...\n", encoding="utf-8")
    assert declarations(folder) == {
        "driver-killed": ["tests/test_some.py::test_one"],
        "zombie": ["tests/test_some.py::test_two"],
        "jvm-killed": ["tests/test_some.py::test_one"],
    }


def test_the_page_is_that_of_the_tests() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"python -m tests.matrix.page {PAGE.relative_to(HOME)}"


def test_a_seed_stands_for_the_same_pairs_of_different_rows() -> None:
    assert all(kind.row in TRIED for kind in KINDS)
    assert len({kind.row for kind in KINDS}) == len(KINDS)
    drawn = [schedule(seed) for seed in range(200)]
    assert drawn == [schedule(seed) for seed in range(200)]
    assert all(len(pairs) == PAIRS and all(one is not other for one, other in pairs) for pairs in drawn)
    pairs = {frozenset(pair) for each in drawn for pair in each}
    assert len(pairs) == len(KINDS) * (len(KINDS) - 1) // 2, "every pair comes"
