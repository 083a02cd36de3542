"""Runs tests with one module replaced by a mutant of it.

Usage: python -m benchmarks.mutants.attempt SECONDS MODULE FILE TEST ...

It is ended after so many seconds of the processor, which do not depend on what else the machine does.

Nothing on the disk changes: this process, and what it imports, see the mutant under the name of the module.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType

import pytest
from hypothesis import Phase
from hypothesis import settings as hypothesis_settings

_MEMORY = 8 * 2**30
"""Bytes of address space: a mutant that takes without end is ended, and the machine is not."""


_PROFILE = "mutants"


class OneModule(MetaPathFinder):
    """Finds one module in another file.

    Args:
        name: of the module.
        file: its source.
    """

    def __init__(self, name: str, file: str) -> None:
        self._name = name
        self._file = file

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the module is; None: another one is looked for."""
        _ = path, target
        return spec_from_file_location(fullname, self._file) if fullname == self._name else None


def main(arguments: list[str]) -> int:
    """Return pytest's exit code."""
    seconds, name, file, *tests = arguments
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.meta_path.insert(0, OneModule(name, file))
    found = (Phase.explicit, Phase.generate)  # whether an example fails is asked, and not for the smallest one
    hypothesis_settings.register_profile(
        _PROFILE, max_examples=15, deadline=None, derandomize=True, database=None, phases=found
    )
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not verify", f"--hypothesis-profile={_PROFILE}"]
    return pytest.main([*options, *tests])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
