"""A failure is blamed on a line of the user's code, wherever it was raised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.spark.checks.blame import blame

CODE = """\
def outer():
    return inner()


def inner():
    raise ValueError("no such thing\\nand much more")
"""
WORKER = """[...] An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "{file}", line 6, in inner
    return 1 // 0
           ~~^^~~
ZeroDivisionError: integer division or modulo by zero
"""
CALL_SITE = """[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012
== DataFrame ==
"__truediv__" was called from
{file}:2
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "spark_jobs" / "transforms" / "sales.py"
    path.parent.mkdir(parents=True)
    path.write_text(CODE)
    return path


def raised(function: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011  whatever it is, it is blamed
        function()
    return caught.value


def test_the_innermost_line_of_a_transform_is_named_with_its_code(module: Path, tmp_path: Path) -> None:
    names: dict[str, Callable[[], object]] = {}
    exec(compile(CODE, str(module), "exec"), names)  # noqa: S102  a transform is code
    assert blame(raised(names["outer"]), tmp_path, "sales.py") == (
        "spark_jobs/transforms/sales.py:6: ValueError: no such thing "
        '(`raise ValueError("no such thing\\nand much more")`)'
    )


def test_a_workers_traceback_gives_its_line_and_its_last_word(module: Path, tmp_path: Path) -> None:
    error = RuntimeError(WORKER.format(file=module))
    assert blame(error, tmp_path, "sales.py").startswith(
        "spark_jobs/transforms/sales.py:6: ZeroDivisionError: integer division or modulo by zero ("
    )


def test_the_call_site_that_spark_names_is_taken(module: Path, tmp_path: Path) -> None:
    error = ArithmeticError(CALL_SITE.format(file=module))
    assert blame(error, tmp_path, "sales.py") == (
        "spark_jobs/transforms/sales.py:2: ArithmeticError: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012 "
        "(`return inner()`)"
    )


def test_a_failure_outside_of_the_users_code_is_told_without_a_line(tmp_path: Path) -> None:
    assert blame(ValueError("lost"), tmp_path, "sales.py") == "ValueError: lost"


def test_a_long_message_is_cut(tmp_path: Path) -> None:
    assert len(blame(ValueError("x" * 10_000), tmp_path, "sales.py")) < 600


def test_the_line_of_a_select_that_spark_names_is_taken(tmp_path: Path) -> None:
    query = tmp_path / "spark_jobs" / "transforms" / "shares.sql"
    query.parent.mkdir(parents=True)
    query.write_text("SELECT shop,\n  paid / (paid - 3) AS share\nFROM orders\n")
    text = "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n== SQL (line 2, position 3) ==\npaid / (paid - 3)\n"
    assert blame(ArithmeticError(text), tmp_path, "shares.sql") == (
        "spark_jobs/transforms/shares.sql:2: ArithmeticError: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012 "
        "(`paid / (paid - 3) AS share`)"
    )
    assert "shares" not in blame(ArithmeticError(text), tmp_path, "sales.py")
