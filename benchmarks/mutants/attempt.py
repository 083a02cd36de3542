"""Runs tests with one module replaced by a mutant of it.

Usage: python -m benchmarks.mutants.attempt MODULE FILE TEST ...

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

_MEMORY = 8 * 2**30
"""Bytes of address space: a mutant that takes without end is ended, and the machine is not."""


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
    name, file, *tests = arguments
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.meta_path.insert(0, OneModule(name, file))
    return pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", "not verify", *tests])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
