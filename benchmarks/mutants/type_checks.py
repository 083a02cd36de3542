"""Mutants that the type checker refuses: `make test` asks it before it runs a test. mutmut can filter them, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.mutants.core import CoreModule
from benchmarks.trials import TrialError
from sluice.settings import settings

_FOUND_ERRORS = 1
_SECONDS = 600


class TypeChecks:
    """Checks one module at a time; what it is made of is checked once.

    Args:
        cache: a folder of its own.
    """

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._sound: set[CoreModule] = set()

    def refuses(self, module: CoreModule, source: Path) -> bool:
        """Return whether a mutant of a module is refused.

        Raises:
            TrialError: the module is refused as it is, or the checker failed.
        """
        own = settings().home / module.path
        if module not in self._sound and self._has_errors(own, own):
            raise TrialError(f"mypy refuses {module.name} without any mutant.")
        self._sound.add(module)
        return self._has_errors(own, source)

    def _has_errors(self, file: Path, source: Path) -> bool:
        options = ["--cache-dir", str(self._cache), "--shadow-file", str(file), str(source)]
        done = subprocess.run(
            ["nice", "-n", "10", sys.executable, "-m", "mypy", *options, str(file)],
            cwd=settings().home,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode not in {0, _FOUND_ERRORS}:
            raise TrialError(f"mypy ended with exit code {done.returncode}: {done.stderr[-500:]}")
        return done.returncode == _FOUND_ERRORS
