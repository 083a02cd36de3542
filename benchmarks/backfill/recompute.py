"""A Sluice backfill as benchmarks run it: one `batch.py` process that recomputes a range of `departures`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from sluice.settings import settings

PIPELINE = "departures"
_FORM = "%Y-%m-%dT%H:%MZ"


def recompute(since: datetime, until: datetime, *, key: str, home: Path | None = None) -> list[str]:
    """Return the command that recomputes `[since, until)`.

    Args:
        since: UTC.
        until: UTC, exclusive.
        key: names the asking.
        home: the project; this repository if omitted.
    """
    main = (home or settings().home) / "spark_jobs" / "batch.py"
    span = ["--from", since.strftime(_FORM), "--to", until.strftime(_FORM)]
    asked = ["--mode", "recompute", "--by", "benchmark", "--why", "benchmark", "--key", key]
    return [sys.executable, str(main), "backfill", "--pipeline", PIPELINE, *span, *asked]


def surroundings(state: Path, home: Path | None = None, root: Path | None = None) -> Mapping[str, str]:
    """Return the variables that put a process into a state folder and a project.

    Args:
        state: the folder.
        home: the project; None: this one.
        root: the code that it runs; None: this one.
    """
    root = root or settings().home
    paths = os.pathsep.join(map(str, (root / "include", root, (home or root) / "spark_jobs")))
    return {"PYTHONPATH": paths, "SLUICE_STATE": str(state), "SLUICE_HOME": str(home or root)}
