"""Static inputs: where their files are, found without importing the package that ships them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from sluice.errors import SpecError
from sluice.specs.kinds import Kind
from sluice.specs.model import StaticInput
from sluice.specs.reading import Finding, Reading


def locate(static: StaticInput, include: Path) -> Path:
    """Return the file of a static input.

    Raises:
        SpecError: there is no such file, or the path leaves its folder.
    """
    path = PurePosixPath(static.path)
    if path.is_absolute() or ".." in path.parts:
        raise SpecError(f"the path {static.path!r} leaves its folder.", fix="name a file below it.")
    if static.package is None:
        folders, place, fix = [include], "include/", "a path without `package` is below `include/`."
    else:
        folders = _folders(static.package)
        place, fix = f"the package {static.package}", "look at the files that the package installs."
    for folder in folders:
        if (folder / path).is_file():
            return folder / path
    raise SpecError(f"there is no file {static.path!r} in {place}.", fix=fix)


def static_inputs_exist(reading: Reading) -> Iterator[Finding]:
    """Every static input is a file, and a CSV file has the declared columns."""
    for name, pipeline in reading.catalog.pipelines.items():
        for key, static in pipeline.static.items():
            try:
                path = locate(static, reading.include)
            except SpecError as error:
                at = "package" if static.package and not _installed(static.package) else "path"
                yield reading.finding(Kind.PIPELINE, name, ("static", key, at), error.message, error.fix)
            else:
                for column in _absent_columns(static, path):
                    message = f"{static.path} has no column {column!r}."
                    yield reading.finding(Kind.PIPELINE, name, ("static", key, "columns", column), message)


def _installed(package: str) -> bool:
    return bool(_folders(package))


def _folders(package: str) -> list[Path]:
    """Return a package's folders. Only its topmost name is looked up: looking up `a.b` would execute `a`."""
    top, *below = package.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return []
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [Path(folder, *below) for folder in spec.submodule_search_locations]


def _absent_columns(static: StaticInput, path: Path) -> list[str]:
    if path.suffix != ".csv":
        return []
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            header = next(csv.reader(lines), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return list(static.columns)
    return [column for column in static.columns if column not in header]
