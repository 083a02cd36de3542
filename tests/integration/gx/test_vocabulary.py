"""`sluice check` knows Great Expectations' names and arguments, and refuses others at their line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sluice.cli.checking.check import check
from sluice.gx.vocabulary import expectations_are_known, expectations_are_known_since
from sluice.settings import settings
from sluice.specs.load import scan
from sluice.specs.reading.faults import Fault
from sluice.specs.rules.rules import RULES
from tests.unit.specs.bench import Bench, sound_project
from tests.unit.specs.case import Case

SUITE_FILE = "include/expectations/sales.yaml"
HEAD = "name: sales\npipeline: sales\nexpectations:\n"
SOUND = "  - expect: expect_column_values_to_not_be_null\n    kwargs: {column: shop}\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return sound_project(tmp_path / "project")


def faults(include: Path) -> tuple[Fault, ...]:
    return scan(include, rules=(*RULES, expectations_are_known)).faults


def entry(expect: str, kwargs: str) -> str:
    return f"  - expect: {expect}\n    kwargs: {kwargs}\n"


def test_the_shipped_suites_are_known() -> None:
    assert faults(settings().home / "include") == ()


@pytest.mark.filterwarnings(
    "ignore:.*row_condition.*:DeprecationWarning", "ignore:.*condition_parser.*:DeprecationWarning"
)
@pytest.mark.parametrize(
    "case",
    [
        (
            "expect_column_values_to_not_be_nul",
            "{column: shop}",
            6,
            "expectations[1].expect",
            "Fix: did you mean 'expect_column_values_to_not_be_null'?",
        ),
        (
            "expect_column_values_to_be_between",
            "{column: shop, min_valu: 3}",
            7,
            "expectations[1].kwargs.min_valu",
            "has no argument 'min_valu'. Fix: did you mean 'min_value'?",
        ),
        (
            "expect_column_values_to_be_between",
            "{min_value: 3}",
            7,
            "expectations[1].kwargs.column",
            "refuses it: field required.",
        ),
        (
            "expect_column_values_to_be_between",
            "{column: shop, min_value: [3]}",
            7,
            "expectations[1].kwargs.min_value",
            "refuses it: value is not a valid float",
        ),
        (
            "expect_column_values_to_be_in_set",
            "{column: shop, value_set: [a], severity: warning}",
            7,
            "expectations[1].kwargs.severity",
            "the gate sets 'severity' itself. Fix: write it beside `expect`.",
        ),
        (
            "expect_column_values_to_be_in_set",
            "{column: shop, value_set: [a], row_condition: 'a=b', condition_parser: great_expectations}",
            7,
            "expectations[1].kwargs",
            "unable to parse condition",
        ),
    ],
    ids=["a-name", "an-argument", "a-missing-argument", "a-type", "ours", "a-condition"],
)
def test_what_great_expectations_does_not_take_is_refused(bench: Bench, case: Case) -> None:
    expect, kwargs, line, where, words = case
    bench.write(SUITE_FILE, HEAD + SOUND + entry(expect, kwargs))
    found = [fault for fault in faults(bench.include) if fault.where == where]
    assert [(fault.file, fault.line) for fault in found] == [(SUITE_FILE, line)]
    assert words in str(found[0])


def test_all_that_is_wrong_comes_at_once(bench: Bench) -> None:
    bench.write(SUITE_FILE, HEAD + entry("expect_nothing", "{}") + entry("expect_column_to_exist", "{colum: a, b: 1}"))
    found = faults(bench.include)
    assert [fault.line for fault in found] == [4, 7, 7]


@pytest.fixture
def place(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("SLUICE_HOME", str(bench.home))
    monkeypatch.setenv("SLUICE_DEPLOYMENT", "prod")
    return bench


def test_the_command_refuses_an_unknown_expectation_like_any_other_fault(place: Bench) -> None:
    place.write(SUITE_FILE, HEAD + entry("expect_nothing", "{}"))
    app = typer.Typer()
    app.command()(check)
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 2
    assert f"{SUITE_FILE}:4: expectations[0].expect: Great Expectations has no 'expect_nothing'." in result.stderr


def waits(bench: Bench) -> bool:
    """Whether a check, in a process of its own, imports Great Expectations."""
    code = (
        "import sys; from pathlib import Path; from sluice.specs.load import scan\n"
        "from sluice.gx.vocabulary import expectations_are_known_since\n"
        f"rule = expectations_are_known_since(Path({str(bench.home / 'memory')!r}))\n"
        f"scan(Path({str(bench.include)!r}), rules=(rule,))\n"
        "print('great_expectations' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return out.stdout.strip() == "True"


def test_specs_without_a_suite_do_not_wait_for_great_expectations(bench: Bench) -> None:
    assert not waits(bench)


def test_suites_are_checked_again_only_when_they_change(bench: Bench) -> None:
    bench.write(SUITE_FILE, HEAD + SOUND)
    rule = expectations_are_known_since(bench.home / "memory")
    assert scan(bench.include, rules=(rule,)).faults == ()
    assert not waits(bench)
    bench.edit(SUITE_FILE, "column: shop", "colum: shop")
    for _ in range(2):
        (fault,) = scan(bench.include, rules=(rule,)).faults
        assert "has no argument 'colum'" in fault.message
