"""Whole drivers that drain a topic, and what that costs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.backfill.recompute import surroundings
from benchmarks.trials import Cost, run_counted
from sluice.settings import StateFolder, settings

TRIAL_SECONDS = 1_200


@dataclass(frozen=True)
class Code:
    """Sluice at some commit.

    Attributes:
        python: the interpreter that has its packages.
        root: its folder.
    """

    python: str
    root: Path


def this_code() -> Code:
    """Return the code that runs this."""
    return Code(sys.executable, settings().home)


def drain(home: Path, unit: str, state: StateFolder, generation: int, code: Code) -> Cost:
    """Run a driver until it has read everything that the topics hold now."""
    main = [code.python, str(home / "spark_jobs" / "stream.py"), "--unit", unit]
    command = [*main, "--generation", str(generation), "--available-now"]
    return run_counted(command, surroundings(state.root, home, code.root), timeout=TRIAL_SECONDS)
