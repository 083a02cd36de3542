"""The page of the rooms of the code: every folder of the package, and what it is for."""

from __future__ import annotations

import ast
from pathlib import Path

import sluice
from generate.markdown import code, paragraphs, table

_HEAD = """# Rooms

Made from the code by `make references`. These are the folders of `include/sluice`, with what each is for.
`tests/unit/test_architecture.py` holds one table of layers: a room may import only from layers below its own, a folder
has at most 20 files, and only the rooms that are named there know a foreign system such as Spark or Airflow.

"""


def rooms_page() -> str:
    """Return the page."""
    package = Path(sluice.__file__).parent
    rows = []
    for file in sorted(package.rglob("__init__.py")):
        room = file.parent.relative_to(package).as_posix()
        if room != ".":
            about = ast.get_docstring(ast.parse(file.read_bytes())) or ""
            rows.append((code(f"{room}/"), str(len(list(file.parent.glob("*.py"))) - 1), paragraphs(about)[0]))
    return _HEAD + table(("folder", "modules", "is for"), rows) + "\n"
