"""The page of the documentation that lists the rows and their tests: `python -m tests.matrix.page <file>` writes it."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.matrix.declarations import declarations
from tests.matrix.rows import MATRIX

_HEAD = """\
# The fault matrix

What may happen, what must be true then, and the tests that prove it.
This page is made from the tests: `python -m tests.matrix.page docs/dev/fault-matrix.md` writes it.
[How the rules are tested](testing.md#the-fault-matrix) says how a run counts.

"""


def page() -> str:
    """Return the page."""
    declared = declarations()
    lines = ["| # | row | fault | expected | tests |", "|--:|---|---|---|---|"]
    for name, row in MATRIX.items():
        tests = "<br>".join(_shown(test) for test in declared.get(name, ())) or f"not tried: {row.untried}"
        lines.append(f"| {row.number} | `{name}` | {row.fault} | {row.expected} | {tests} |")
    return _HEAD + "\n".join(lines) + "\n"


def _shown(test: str) -> str:
    file, _, function = test.partition("::")
    return f"[{Path(file).stem}](../../{file}) `{function}`"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
