"""One mistake in one file of a sound project."""

from __future__ import annotations

from tests.unit.specs.bench import Bench

Case = tuple[str, str, int, str, str]
"""What is replaced, by what, then the fault's line, path and words."""


def words(case: Case) -> str:
    return case[-1]


def assert_one_fault(bench: Bench, file: str, case: Case, *, shown: str = "") -> None:
    """Break a file on purpose and expect exactly one fault, at its line."""
    old, new, line, where, words = case
    bench.edit(file, old, new)
    (fault,) = bench.scan().faults
    assert (fault.file, fault.line, fault.where) == (shown or file, line, where)
    assert words in str(fault)
