"""Static inputs: where their files are, found without importing the package that ships them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from sluice.errors import SpecError
from sluice.specs.model.sources import StaticFormat, StaticInput

_MAY_BE_FOLDERS = {StaticFormat.PARQUET, StaticFormat.DELTA}


def locate(static: StaticInput, include: Path) -> Path:
    """Return the file of a static input that has a path, or its folder.

    Raises:
        SpecError: there is no such file, or the path leaves its folder.
    """
    return locate_file(static.package, str(static.path), include, or_folder=static.form in _MAY_BE_FOLDERS)


def locate_file(package: str | None, name: str, include: Path, *, or_folder: bool = False) -> Path:
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
        folders = folders_of(package)
        place, fix = f"the package {package}", "check the files that the package installs."
    for folder in folders:
        if (folder / path).is_file() or (or_folder and (folder / path).is_dir()):
            return folder / path
    what = "file or folder" if or_folder else "file"
    raise SpecError(f"there is no {what} {name!r} in {place}.", fix=fix)


def folders_of(package: str) -> list[Path]:
    """Return a package's folders. Only its topmost name is looked up: looking up `a.b` would execute `a`."""
    top, *below = package.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return []
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [Path(folder, *below) for folder in spec.submodule_search_locations]
