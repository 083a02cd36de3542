from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sluice.cli.main import COMMANDS

HOME = Path(__file__).parents[3]
BATCH = HOME / "spark_jobs" / "batch.py"


def printed(code: str) -> str:
    """Return what a fresh Python prints; all that it says on stderr is a failure."""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not ended.stderr
    return ended.stdout.strip()


def test_what_is_imported_is_none_of_the_collectors_business() -> None:
    code = """
import gc
from sluice.launch.imports import loading_code
with loading_code():
    during = gc.isenabled()
    import decimal
print(during, gc.isenabled(), any(each is decimal.Decimal for each in gc.get_objects()), gc.get_freeze_count() > 0)
"""
    assert printed(code) == "False True False True"


def test_a_collector_that_was_switched_off_stays_off() -> None:
    code = """
import gc
from sluice.launch.imports import loading_code
gc.disable()
with loading_code():
    pass
print(gc.isenabled())
"""
    assert printed(code) == "False"


def test_a_failed_import_leaves_the_collector_at_work() -> None:
    code = """
import gc
from contextlib import suppress
from sluice.launch.imports import loading_code
with suppress(ModuleNotFoundError), loading_code():
    import no_such_module
print(gc.isenabled())
"""
    assert printed(code) == "True"


def test_duckdb_that_is_imported_later_does_not_complain() -> None:
    code = """
from sluice.launch.imports import loading_code
with loading_code():
    import pyarrow
from sluice.delta.sql import query_memory
print(query_memory("SELECT n + 1 AS n FROM t", {"t": pyarrow.table({"n": [1]})}).to_pylist())
"""
    assert printed(code) == "[{'n': 2}]"


@pytest.mark.parametrize(
    "code",
    [
        f"import runpy, sys; runpy.run_path({str(BATCH)!r})",
        f"import sys\nfor each in {sorted(COMMANDS.values())!r}: __import__(each.partition(':')[0])",
    ],
    ids=["batch", "commands"],
)
def test_what_complains_of_frozen_objects_is_imported_on_use(code: str) -> None:
    assert printed(f"{code}\nimport sys\nprint({{'duckdb', 'great_expectations'}} & sys.modules.keys())") == "set()"


def test_a_verified_day_does_not_wait_for_what_it_does_not_need() -> None:
    unneeded = {"sqlglot", "duckdb", "supervisor", "sluice.project.health", "sluice.project.streams"}
    code = f"import runpy, sys; runpy.run_path({str(BATCH)!r})\nimport sluice.cli.backfill"
    assert printed(f"{code}\nprint({unneeded!r} & sys.modules.keys())") == "set()"


def test_the_command_line_loads_its_command_so() -> None:
    code = """
import gc, sys
from sluice.cli.main import main
sys.argv = ["sluice", "explain", "--help"]
try:
    main()
finally:
    print(gc.get_freeze_count() > 0 and gc.isenabled())
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "True"
