"""The examples that ship with Sluice: small projects, each the answer to "how do I do this"."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import sluice
from sluice.errors import NotReadyError, SpecError

_IN_WHEEL = Path(sys.prefix) / "share" / "sluice" / "examples"
_IN_REPOSITORY = Path(sluice.__file__).parents[2] / "examples"
_OF_PROJECT = ("include", "spark_jobs", "tests")
"""The folders whose files become a part of a project; a README and pictures stay where they are."""


def examples_folder() -> Path:
    """Return the folder with all examples.

    Raises:
        NotReadyError: this installation has none.
    """
    for folder in (_IN_REPOSITORY, _IN_WHEEL):
        if folder.is_dir():
            return folder
    raise NotReadyError(f"this installation has no examples: {_IN_WHEEL} does not exist.", fix="install it again.")


def example_names(folder: Path) -> list[str]:
    """Return the names of all examples."""
    return sorted(path.name for path in folder.iterdir() if (path / "include").is_dir())


def example_files(name: str, folder: Path) -> Mapping[str, bytes]:
    """Return the files of an example by their paths in a project.

    Raises:
        SpecError: there is no such example.
    """
    names = example_names(folder)
    if name not in names:
        raise SpecError(f"there is no example {name!r}.", fix=f"choose one of {', '.join(names)}.")
    return files_below(folder / name, _OF_PROJECT)


def files_below(folder: Path, parts: Sequence[str] = (".",)) -> Mapping[str, bytes]:
    """Return the content of all files in some parts of a folder, by their paths in it; no byte-code."""
    paths = [path for part in parts for path in sorted((folder / part).rglob("*"))]
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts
    }
