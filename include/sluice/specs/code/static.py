"""Static inputs: where their files are, found without importing the package that ships them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from sluice.errors import SpecError
from sluice.specs.model.model import StaticInput
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading


def locate(static: StaticInput, include: Path) -> Path:
    """Return the file of a static input.

    Raises:
        SpecError: there is no such file, or the path leaves its folder.
    """
    return locate_file(static.package, static.path, include)


def locate_file(package: str | None, name: str, include: Path) -> Path:
    """Return a file below `include/`, or below a package.

    Raises:
        SpecError: there is no such file, or the path leaves its folder.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise SpecError(f"the path {name!r} leaves its folder.", fix="name a file below it.")
    if package is None:
        folders, place, fix = [include], "include/", "a path without `package` is below `include/`."
    else:
        folders = _folders(package)
        place, fix = f"the package {package}", "check the files that the package installs."
    for folder in folders:
        if (folder / path).is_file():
            return folder / path
    raise SpecError(f"there is no file {name!r} in {place}.", fix=fix)


def static_inputs_exist(reading: Reading) -> Iterator[Finding]:
    """Every static input is a file, and a CSV file has the declared columns."""
    located, header_of = cache(locate_file), cache(_header)  # pipelines share inputs: each is checked once
    for name, pipeline in reading.catalog.pipelines.items():
        for key, static in pipeline.static.items():
            try:
                path = located(static.package, static.path, reading.include)
            except SpecError as error:
                at = "package" if static.package and not _folders(static.package) else "path"
                yield reading.finding(Kind.PIPELINE, name, ("static", key, at), error.message, error.fix)
            else:
                header = header_of(path)
                for column in (c for c in static.columns if header is not None and c not in header):
                    message = f"{static.path} has no column {column!r}."
                    yield reading.finding(Kind.PIPELINE, name, ("static", key, "columns", column), message)


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


def _header(path: Path) -> list[str] | None:
    """Return the columns of a CSV file, none if it cannot be read; None for a file of another kind."""
    if path.suffix != ".csv":
        return None
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            return next(csv.reader(lines), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return []
