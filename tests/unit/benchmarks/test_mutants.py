"""Which mutants are tried, and which may survive."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.mutants import explained as explaining
from benchmarks.mutants.attempt import OneModule
from benchmarks.mutants.attempts import CodeMutant
from benchmarks.mutants.core import CORE, CoreModule
from benchmarks.mutants.explained import explained, refuse_stale
from benchmarks.mutants.mutants import sample
from benchmarks.trials import TrialError
from sluice.settings import settings

MODULE = CoreModule("ledger", "sluice.intervals.ledger", ("tests/unit/intervals/test_ledger.py",))


def mutant(number: int, change: str = "- a\n+ b") -> CodeMutant:
    return CodeMutant(MODULE, number, "fold", change)


def test_every_core_module_and_its_tests_are_there() -> None:
    home = settings().home
    paths = [path for module in CORE for path in (module.path, *(test.partition("::")[0] for test in module.tests))]
    assert [path for path in paths if not (home / path).exists()] == []
    assert len({module.name for module in CORE}) == len(CORE)
    assert {module.subject for module in CORE} == {"ledger", "settling", "planner", "verdicts", "gate", "validation"}


def test_the_same_seed_gives_the_same_sample_and_no_change_twice() -> None:
    many = [mutant(number, f"- a\n+ {number % 60}") for number in range(100)]
    chosen = sample(many, 50, 7)
    assert chosen == sample(many, 50, 7) != sample(many, 50, 8)
    assert len({each.key for each in chosen}) == 50
    assert [each.number for each in chosen] == sorted(each.number for each in chosen)


def test_each_reason_is_about_code_that_is_there() -> None:
    functions = {module.name: _functions(settings().home / module.path) for module in CORE}
    for module, function, change in explained():
        lines = {line.strip() for line in functions[module][function].splitlines()}
        gone = [line[2:] for line in change.splitlines() if line.startswith("- ")]
        assert gone, change
        assert [line for line in gone if line not in lines] == [], f"{module} {function} has changed: judge it again"


def test_a_reason_for_a_mutant_that_is_none_any_more_is_refused() -> None:
    known = mutant(1).key
    refuse_stale([known], {known})
    with pytest.raises(TrialError, match="judge it again"):
        refuse_stale([known, mutant(2, "- c\n+ d").key], {known})


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ('[{module: m, function: f, change: "- a", reason: ""}]', "without a reason"),
        (
            '[{module: m, function: f, change: "- a", reason: r}, {module: m, function: f, change: "- a", reason: s}]',
            "the same mutant twice",
        ),
    ],
)
def test_a_reason_is_written_and_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: str, why: str
) -> None:
    monkeypatch.setattr(explaining, "FILE", tmp_path / "equivalent.yaml")
    explaining.FILE.write_text(entries)
    with pytest.raises(TrialError, match=why):
        explained()


def test_one_module_is_found_in_another_file_and_no_other_is(tmp_path: Path) -> None:
    finder = OneModule("sluice.intervals.ledger", str(tmp_path / "0.py"))
    found = finder.find_spec("sluice.intervals.ledger")
    assert found is not None
    assert found.origin == str(tmp_path / "0.py")
    assert finder.find_spec("sluice.intervals.entries") is None


def _functions(file: Path) -> dict[str, str]:
    """Return the texts of a module's functions and methods, by their names."""
    text = file.read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef):
                name = f"{node.name}.{each.name}" if isinstance(node, ast.ClassDef) else each.name
                found[name] = ast.get_source_segment(text, each) or ""
    return found
