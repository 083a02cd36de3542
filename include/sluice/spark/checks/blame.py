"""Which line of the user's code a failure comes from: Python's traceback, a worker's, or Spark's call site."""

from __future__ import annotations

import linecache
import re
import traceback
from pathlib import Path

from sluice.specs.model.spec import SQL_SUFFIX

_WIDTH = 500


_IN_SELECT = re.compile(r"^== SQL .*\(line (\d+), position \d+\) ==", re.MULTILINE)


def blame(error: BaseException, home: Path, file: str) -> str:
    """Return `file:line: error (code)`, or the error alone where no line of a transform is in it.

    Args:
        error: what a transform raised, or what Spark raised when it ran the plan that the transform made.
        home: the project; files are named relative to it.
        file: the transform's, below `spark_jobs/transforms/`.
    """
    place = _raised_at(error, home) or _named_in(str(error), home) or _in_select(str(error), home, file)
    if place is None:
        return _reason(error)
    path, line = place
    code = linecache.getline(str(path), line).strip()
    return f"{path.relative_to(home).as_posix()}:{line}: {_reason(error)}" + (f" (`{code}`)" if code else "")


def _raised_at(error: BaseException, home: Path) -> tuple[Path, int] | None:
    """Return the innermost line of a transform that was running."""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    ours = [(file, line) for file, line in frames if line and file.is_relative_to(_folder(home))]
    return ours[-1] if ours else None


def _named_in(text: str, home: Path) -> tuple[Path, int] | None:
    """Return the last line of a transform that an error of an executor names."""
    places = re.findall(rf'({re.escape(str(_folder(home)))}/[^\s"]+\.py)(?:", line |:)(\d+)', text)
    return (Path(places[-1][0]), int(places[-1][1])) if places else None


def _in_select(text: str, home: Path, file: str) -> tuple[Path, int] | None:
    """Return the line of a SELECT on which Spark failed."""
    found = _IN_SELECT.search(text) if file.endswith(SQL_SUFFIX) else None
    return (_folder(home) / file, int(found[1])) if found else None


def _folder(home: Path) -> Path:
    return home / "spark_jobs" / "transforms"


def _reason(error: BaseException) -> str:
    """Return what was raised in one line: of a worker's traceback its last, of anything else its first."""
    _, traced, trace = str(error).partition("Traceback (most recent call last):\n")
    if traced:
        lines = [line for line in trace.splitlines() if line and not line.startswith((" ", "\t"))]
        text = lines[0] if lines else ""
    else:
        text = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
