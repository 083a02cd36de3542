"""A run of the matrix counts what was proven, and nothing else."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from tests.matrix.recording import RowReport
from tests.matrix.rows import MATRIX, TRIED
from tests.matrix.summary import figures, notes, results, table

DECLARED = {"zombie": ["tests/test_z.py::test_z"], "driver-killed": ["tests/test_d.py::test_d"]}


def line(test: str, *reports: RowReport, passed: bool = True) -> dict[str, Any]:
    return {"test": test, "passed": passed, "seconds": 2.0, "faults": [asdict(report) for report in reports]}


def report(row: str, **more: Any) -> RowReport:  # noqa: ANN401 - fields of a report
    slept = RowReport(row, ["it slept"], lost=0, twice=0, phantom=0, at_stake="records")
    return replace(slept, **more)


def test_cases_of_a_row_add_up_and_the_longest_recovery_counts() -> None:
    cases = [line(f"tests/test_z.py::test_z[{n}]", report("zombie", recovery_s=float(n))) for n in (3, 7, 5)]
    found = results(cases, DECLARED)
    assert (found["zombie"].tests, found["zombie"].seconds, found["zombie"].report.recovery_s) == (3, 6.0, 7.0)
    assert figures(found) == {
        "faults": len(TRIED),
        "faults_fired": 1,
        "lost": 0,
        "twice": 0,
        "phantom": 0,
        "stale_alarms": 0,
    }


def test_a_row_without_evidence_has_not_fired() -> None:
    found = results([line("tests/test_z.py::test_z", report("zombie", evidence=[]))], DECLARED)
    assert figures(found)["faults_fired"] == 0
    assert set(notes(found)["silent"]) == TRIED


def test_a_row_with_one_failed_case_has_not_fired_and_what_it_lost_counts() -> None:
    cases = [
        line("tests/test_z.py::test_z[a]", report("zombie")),
        line("tests/test_z.py::test_z[b]", report("zombie", lost=4), passed=False),
        line("tests/test_d.py::test_d", passed=False),  # it died before it could report
    ]
    found = results(cases, DECLARED)
    assert (figures(found)["faults_fired"], figures(found)["lost"]) == (0, 4)
    assert notes(found)["failed"] == {
        "driver-killed": ["tests/test_d.py::test_d"],
        "zombie": ["tests/test_z.py::test_z[b]"],
    }


def test_the_table_has_every_row_and_says_which_are_not_tried() -> None:
    shown = table(results([line("tests/test_z.py::test_z", report("zombie", evidence=["a | b"]))], DECLARED))
    rows = shown.splitlines()[2:]
    assert len(rows) == len(MATRIX)
    (zombie,) = [row for row in rows if "| zombie |" in row]
    assert "| a / b | 0 | 0 | 0 | - | - | records | 1 |" in zombie
    assert sum("NOT SEEN" in row for row in rows) == len(TRIED) - 1
    assert sum("not tried here" in row for row in rows) == len(MATRIX) - len(TRIED)
    assert {row.count("|") for row in shown.splitlines()} == {11}
