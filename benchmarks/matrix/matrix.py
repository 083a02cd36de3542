"""The fault matrix in one run: each fault is proven, and records that are lost or doubled are counted.

`faults`: rows that are tried; `faults_fired`: of which a test that passed has shown that the fault struck; `lost`,
`twice`, `phantom`: records, over all rows that count them; `stale_alarms`: verdicts that still ask for a person after
a recovery. What failed, kept silent or is not tried here is named beside them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sluice.settings import settings
from tests.matrix.declarations import declarations
from tests.matrix.rows import MATRIX
from tests.matrix.summary import figures, notes, results, table

_TWO_AT_ONCE = ("--numprocesses", "2", "--dist", "loadfile", "--no-loadscope-reorder")
_LONGEST_FIRST = ("tests/verify", "tests/integration/spark/faults", "tests/integration/spark/cluster")


def run(what: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and what they do not say; the table is in the state folder, as `matrix/table.md`.

    Args:
        what: `full`; `small` for the tests that need seconds; the name of one row; or `table` to count once more what
            the last run reported, also if it was ended before its time.
    """
    folder = settings().state / "matrix"
    folder.mkdir(parents=True, exist_ok=True)
    file, declared, began = folder / "reports.jsonl", declarations(), time.monotonic()
    if what != "table":
        file.unlink(missing_ok=True)
        _run_tests(what, declared, file)
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    found = results(lines, declared)
    (folder / "table.md").write_text(table(found), encoding="utf-8")
    print(table(found), file=sys.stderr)
    seconds = round(time.monotonic() - began, 1)
    return {**figures(found), "seconds": seconds}, {"size": what, "cases": len(lines), **notes(found)}


def _run_tests(what: str, declared: Mapping[str, Iterable[str]], file: Path) -> None:
    """Run the tests that prove rows, in one run of pytest, with what they say on the error output."""
    rows = [what] if what in MATRIX else list(MATRIX)
    tests = sorted({test for row in rows for test in declared.get(row, ())}, key=_rank)
    which = "proves and not verify" if what == "small" else "proves"
    command = [sys.executable, "-m", "pytest", "--no-skips", "--hypothesis-profile=fresh", *_TWO_AT_ONCE]
    command += ["-m", which, f"--fault-reports={file}", *tests]
    subprocess.run(command, cwd=settings().home, stdout=sys.stderr, check=False)


def _rank(test: str) -> tuple[int, str]:
    """Order tests so that those that take long begin."""
    places = [number for number, folder in enumerate(_LONGEST_FIRST) if test.startswith(folder)]
    return (places[0] if places else len(_LONGEST_FIRST), test)
